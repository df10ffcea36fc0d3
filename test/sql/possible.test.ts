import { Bool, Field, Float64, Int64, Utf8 } from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { bindExpression } from '../../src/sql/bind.ts';
import { likePrefix } from '../../src/sql/patterns/like.ts';
import { parseExpression } from '../../src/sql/parse.ts';
import { may, possibleStates } from '../../src/sql/possible.ts';
import { anyValue, onlyNull, type ValueRange } from '../../src/sql/compare/value-range.ts';

const fields = [
  new Field('i', new Int64(), true),
  new Field('j', new Int64(), true),
  new Field('f', new Float64(), true),
  new Field('s', new Utf8(), true),
  new Field('b', new Bool(), true),
  new Field('none', new Int64(), true),
  new Field('any', new Int64(), true),
];

const between = (
  least: bigint | number | string | null,
  greatest: bigint | number | string | null,
) => {
  const value = (end: typeof least) => (typeof end === 'string' ? Buffer.from(end) : end);
  return { null: false, nan: false, values: { least: value(least), greatest: value(greatest) } };
};

/** `i` from 10 to 20, `j` from 20 to 30 with nulls, floats from 0 to 1 with NaN, texts from abc to abd. */
const ranges: Readonly<Record<string, ValueRange>> = {
  i: between(10n, 20n),
  j: { ...between(20n, 30n), null: true },
  f: { ...between(0, 1), nan: true },
  s: between('abc', 'abd'),
  b: between(1n, 1n),
  none: onlyNull,
  any: anyValue,
};

/** What a predicate may be: T, F, U, and E where evaluation may fail. */
function possible(text: string): string {
  const states = possibleStates(bindExpression(parseExpression(text), { fields }));
  const found = states((name) => ranges[name]!);
  const letters = [
    [may.beTrue, 'T'],
    [may.beFalse, 'F'],
    [may.beUnknown, 'U'],
    [may.fail, 'E'],
  ] as const;
  return letters.flatMap(([bit, letter]) => (found & bit ? [letter] : [])).join('');
}

describe('what a predicate may be for ranges of its columns', () => {
  it.each([
    ['i > 20', 'F'],
    ['i >= 20', 'TF'],
    ['i >= 10', 'T'],
    ['9.5 < i', 'T'],
    ['i = 5', 'F'],
    ['i <> 5', 'T'],
    ['i < j', 'TFU'],
    ['i > j', 'FU'],
    ['i <= j', 'TU'],
    ['j > 100', 'FU'],
    ['not (j > 100)', 'TU'],
    ['j > null', 'U'],
    ['none = 1', 'U'],
    ['any = 1', 'TFU'],
    ['i is distinct from j', 'TF'],
    ['none is not distinct from null', 'T'],
    ['none is distinct from i', 'T'],
    ['f <= 1', 'TF'],
    ['f >= 0', 'T'],
    ["f = cast('nan' as double)", 'TF'],
    ['f > 1', 'TF'],
    ['i between 0 and 100', 'T'],
    ['i not between 15 and 100', 'TF'],
    ['i between 21 and 30', 'F'],
    ['i in (1, 2, 300)', 'F'],
    ['i in (1, 15)', 'TF'],
    ['i not in (1, 2)', 'T'],
    ['i not in (1, null)', 'U'],
    ['j in (1)', 'FU'],
    ['i is null', 'F'],
    ['i is not null', 'T'],
    ['none is null', 'T'],
    ['j is null', 'TF'],
    ['(j > 100) is null', 'TF'],
    ['(j > 100) is true', 'F'],
    ['(j > 100) is not true', 'T'],
    ['(j > 100) is unknown', 'TF'],
    ['b', 'T'],
    ['not b', 'F'],
    ['b = false', 'F'],
    ["s like 'ab%'", 'T'],
    ["s like 'abc%'", 'TF'],
    ["s like 'b%'", 'F'],
    ["s not like 'b%'", 'T'],
    ["s like 'abx'", 'F'],
    ["s like 'ab_'", 'TF'],
    ["s like '%c'", 'TF'],
    ["s ilike 'B%'", 'TFU'],
    ["s >= 'abc' and s < 'abe'", 'T'],
    ['i > 20 and j > 0', 'F'],
    ['j > 100 and i > 0', 'FU'],
    ['j > 100 or i > 0', 'T'],
    ['j > 100 or none = 1', 'U'],
    ['any > 0 and none = 1', 'FU'],
    ['1 / i > 5', 'TFUE'],
    ['i > 20 and 1 / i > 5', 'F'],
    ['1 / i > 5 and i > 20', 'FE'],
    ['i > 0 or 1 / i > 5', 'T'],
    ['i < 15 or 1 / i > 5', 'TFUE'],
    ['length(s) = 3', 'TFU'],
    ['coalesce(b, false)', 'TFU'],
    ['case when b then true else i > 3 end', 'TFU'],
    ['null', 'U'],
    ['true', 'T'],
  ])('%s: %s', (text, states) => {
    expect(possible(text)).toBe(states);
  });

  it('ends that are open leave open what lies beyond them', () => {
    const states = possibleStates(
      bindExpression(parseExpression("s < 'a' or s > 'z'"), { fields }),
    );
    expect(states(() => between('b', null))).toBe(may.beTrue | may.beFalse);
    expect(states(() => between('b', 'y'))).toBe(may.beFalse);
  });
});

describe('the beginning that a LIKE pattern asks for', () => {
  it.each([
    ['', '\\', '', 'nothing'],
    ['abc', '\\', 'abc', 'nothing'],
    ['abc%', '\\', 'abc', 'anything'],
    ['abc%%', '\\', 'abc', 'anything'],
    ['abc%d', '\\', 'abc', 'more'],
    ['a_c', '\\', 'a', 'more'],
    ['a\\%b%', '\\', 'a%b', 'anything'],
    ['a\\', '\\', 'a\\', 'nothing'],
    ['a!_%', '!', 'a_', 'anything'],
    ['a\\%', '', 'a\\', 'anything'],
    ['a%%', '%', 'a%', 'nothing'],
    ['a%', '%', 'a', 'more'],
  ])('of %j with the escape %j is %j, then %s', (pattern, escape, text, rest) => {
    expect(likePrefix(pattern, escape)).toEqual({ text, rest });
  });
});
