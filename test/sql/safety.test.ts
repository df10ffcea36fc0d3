import {
  Bool,
  DateDay,
  DateMillisecond,
  Decimal,
  Dictionary,
  DurationMillisecond,
  Field,
  FixedSizeBinary,
  FixedSizeList,
  Float16,
  Int16,
  Int32,
  Int64,
  LargeUtf8,
  List,
  makeData,
  Null,
  Struct,
  TimeSecond,
  TimestampMicrosecond,
  TimestampSecond,
  Uint64,
  Utf8,
  Vector,
  type DataType,
} from 'apache-arrow';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bindExpression } from '../../src/sql/bind.ts';
import { SqlError } from '../../src/sql/values/sql-error.ts';
import { evaluate } from '../../src/sql/evaluate.ts';
import { parseExpression } from '../../src/sql/parse.ts';
import { sameType } from '../../src/arrow/types.ts';
import { expressionTexts } from './expression-texts.ts';
import { ask, batchOf, column, refusal, select, valuesOf } from './support.ts';
import { casesOf } from '../support/cases.ts';

const batch = batchOf({
  a: column(new Int32(), [1, 2, null]),
  Bc: column(new Utf8(), ['x', 'y', null]),
  'd e': column(new Int64(), [1n, null, 3n]),
  f: column(new Utf8(), ['a%', '', null]),
});

const deep = 'limit: expected at most 200 levels of nesting, found more, at position ';

describe('nesting', () => {
  it.each([
    ['parentheses', '('.repeat(100_000), `${deep}201`],
    ['closed parentheses', `${'('.repeat(300)}a${')'.repeat(300)}`, `${deep}201`],
    ['NOT', `${'not '.repeat(100_000)}a`, `${deep}801`],
    ['minus', `${'- '.repeat(100_000)}a`, `${deep}401`],
    ['plus', `${'+'.repeat(100_000)}a`, `${deep}201`],
    ['calls', `${'abs('.repeat(1000)}a${')'.repeat(1000)}`, `${deep}801`],
    ['lists', '['.repeat(100_000), `${deep}201`],
    ['CASE', 'case '.repeat(100_000), `${deep}1001`],
    ['sums', `a${' + a'.repeat(100_000)}`, `${deep}799`],
    ['comparisons', `a${' = a'.repeat(1000)}`, `${deep}799`],
    ['elements', `a${'[1]'.repeat(1000)}`, `${deep}599`],
    ['casts', `a${'::int'.repeat(1000)}`, `${deep}997`],
    ['IS', `a${' is null'.repeat(1000)}`, `${deep}1595`],
    ['fields of a computed struct', `a[1]${'.x'.repeat(1000)}`, `${deep}401`],
  ])('of %s ends', (_, text, message) => {
    expect(refusal(text, batch)).toBe(message);
  });

  it('of 190 levels is accepted in every form', () => {
    expect(refusal(`${'('.repeat(190)}a${')'.repeat(190)}`, batch)).toBe('accepted');
    expect(refusal(`${'not '.repeat(190)}(a = 1)`, batch)).toBe('accepted');
    expect(ask(`a${' + a'.repeat(190)}`, batch)).toEqual([191, 382, null]);
    expect(refusal(`${'coalesce('.repeat(190)}a${', 1)'.repeat(190)}`, batch)).toBe('accepted');
    const cases = `${'case when a = 1 then 1 else '.repeat(190)}a${' end'.repeat(190)}`;
    expect(ask(cases, batch)).toEqual([1, 2, null]);
  });
});

describe('length', () => {
  it('is bounded', () => {
    expect(refusal(`'${'a'.repeat(1_048_576)}'`, batch)).toBe(
      'limit: expected at most 1048576 characters, found 1048578, at position 1048577',
    );
    expect(refusal(`a = 1${' or a = 2'.repeat(10_000)}`, batch)).toBe(
      'limit: expected at most 20000 operators and names, found more, at position 90001',
    );
    expect(refusal(`concat(a${', a'.repeat(100)})`, batch)).toBe(
      'limit: expected at most 100 arguments of concat, found 101, at position 1',
    );
    expect(refusal(`[a${', 1'.repeat(100_000)}]`, batch)).toBe(
      'limit: expected at most 100 arguments of make_array, found 100001, at position 1',
    );
  });

  it('allows long lists of literals and long chains', () => {
    const numbers = Array.from({ length: 100_000 }, (_, at) => at + 2).join(', ');
    expect(select(`a in (${numbers})`, batch)).toEqual([1]);
    expect(select(`array_has([${numbers}], a)`, batch)).toEqual([1]);
    expect(select(`a = 1${' or a = 5'.repeat(5000)}`, batch)).toEqual([0]);
    expect(select(`a = 1${' and a <> 5'.repeat(5000)}`, batch)).toEqual([0]);
    const branches = Array.from({ length: 3000 }, (_, at) => `when ${at + 2} then ${at}`).join(' ');
    expect(ask(`case a ${branches} else -1 end`, batch)).toEqual([-1n, 0n, -1n]);
  });

  it('of results is bounded', () => {
    expect(refusal("replace(repeat(Bc, 1000), 'x', repeat('y', 1000000))", batch)).toBe(
      'limit: expected at most 67108864 characters from replace, found 1000000000, at position 1',
    );
    const repeated = `${'repeat('.repeat(40)}Bc${', 2)'.repeat(40)}`;
    expect(refusal(repeated, batch)).toBe(
      'limit: expected at most 67108864 characters from repeat, found 134217728, at position 92',
    );
    const words = column(
      new Dictionary(new Utf8(), new Int32()),
      Array.from({ length: 1000 }, () => 'x'.repeat(300_000)),
    );
    expect(refusal('concat(w, w)', batchOf({ w: words }))).toBe(
      'limit: expected at most 402653184 bytes of text in a batch, found more, at position 1',
    );
  });

  it('of operands that stand twice does not multiply', () => {
    const between = Array.from({ length: 150 }).reduce<string>(
      (text) => `(${text}) between false and true`,
      'a = 1',
    );
    expect(ask(between, batch)).toEqual([true, true, null]);
    const nulls = Array.from({ length: 150 }).reduce<string>((text) => `nullif(${text}, 7)`, 'a');
    expect(ask(nulls, batch)).toEqual([1, 2, null]);
    const simple = Array.from({ length: 100 }).reduce<string>(
      (text) => `case ${text} when 1 then 2 when 2 then 1 end`,
      'a',
    );
    expect(ask(simple, batch)).toEqual([1n, 2n, null]);
  });
});

/** A column of every kind of type, two rows with values and one without. */
const every = batchOf({
  a: column(new Int32(), [1, 2, null]),
  Bc: column(new Utf8(), ['x', 'y', null]),
  'd e': column(new Int64(), [1n, null, 3n]),
  f: column(new Dictionary(new LargeUtf8(), new Int16()), ['a%', '', null]),
  ok: column(new Bool(), [true, false, null]),
  u: column(new Uint64(), [2n ** 64n - 1n, 0n, null]),
  half: new Vector([
    makeData({ type: new Float16(), data: Uint16Array.of(0x3c00, 0x7e00, 0), length: 3 }),
  ]),
  price: column(new Decimal(2, 10, 128), [
    Uint32Array.of(150, 0, 0, 0),
    Uint32Array.of(5, 0, 0, 0),
    null,
  ]),
  d: column(new DateDay(), [new Date('2024-02-29'), new Date('1969-12-31'), null]),
  d64: column(new DateMillisecond(), [new Date('2024-02-29'), new Date('1969-12-31'), null]),
  t: column(new TimeSecond(), [3661, 0, null]),
  ts: column(new TimestampMicrosecond('UTC'), [1_706_659_200_500, -1, null]),
  far: column(new TimestampSecond('Asia/Tokyo'), [0, 1000, null]),
  span: column(new DurationMillisecond(), [1n, -1n, null]),
  bin: column(new FixedSizeBinary(1), [Uint8Array.of(97), Uint8Array.of(255), null]),
  l: column(new List(new Field('item', new Int64(), true)), [[1n, null], [], null]),
  v: column(new FixedSizeList(2, new Field('item', new Utf8(), true)), [
    ['x', 'y'],
    ['z', null],
    null,
  ]),
  st: column(new Struct([new Field('k', new Int32(), true)]), [{ k: 1 }, null, { k: null }]),
  nothing: new Vector([makeData({ type: new Null(), length: 3 })]),
});

describe('any expression', () => {
  const evaluates = (text: string): void => {
    try {
      const bound = bindExpression(parseExpression(text), every.schema);
      const vector = evaluate(bound, every);
      expect(valuesOf(vector)).toHaveLength(every.numRows);
      expect(sameType(vector.type as DataType, bound.type)).toBe(true);
    } catch (error) {
      expect(error).toBeInstanceOf(SqlError);
    }
  };

  it('gives a value for each row or is refused', () => {
    fc.assert(fc.property(expressionTexts, evaluates), { numRuns: casesOf(500, 1500) });
  });

  const operands = fc.constantFrom(
    'a',
    'Bc',
    '`d e`',
    ...every.schema.fields.map(({ name }) => `\`${name}\``),
    '1',
    '-2',
    '0',
    '2.5',
    "'x'",
    "''",
    'null',
    'true',
    'a = 1',
    '[a, 2]',
    "['x']",
    "date '2024-02-29'",
    "timestamp '2024-01-01 10:00:00'",
    "interval '1 month'",
    "X'61'",
    "time '10:00'",
    '9223372036854775807',
    'cast(a as decimal(10, 2))',
    'cast(a as float)',
    'cast(a as int unsigned)',
    'cast(Bc as binary)',
  );
  const joints = fc.constantFrom(
    '+',
    '-',
    '*',
    '/',
    '%',
    '||',
    '=',
    '<',
    '>=',
    'and',
    'or',
    'like',
    'is distinct from',
    'is not distinct from',
  );
  const calls = fc.constantFrom(
    'coalesce',
    'nullif',
    'greatest',
    'least',
    'concat',
    'array_has',
    'array_has_any',
    'array_has_all',
    'power',
    'mod',
    'round',
    'substr',
    'left',
    'lpad',
    'replace',
    'starts_with',
    'strpos',
    'date_part',
    'date_trunc',
    'make_array',
    'array_position',
    'array_slice',
    'array_to_string',
    'arrow_typeof',
    'chr',
    'concat_ws',
    'date_bin',
    'initcap',
    'nanvl',
    'nvl2',
    'regexp_like',
    'regexp_match',
    'to_hex',
    'translate',
    'log',
  );

  it('joins operands of every type or refuses them', () => {
    const pairs = fc.tuple(operands, operands, operands);
    fc.assert(
      fc.property(pairs, joints, ([left, right], joint) =>
        evaluates(`(${left}) ${joint} (${right})`),
      ),
      { numRuns: casesOf(500, 1500) },
    );
    fc.assert(
      fc.property(pairs, calls, ([a, b, c], name) => {
        evaluates(`${name}(${a})`);
        evaluates(`${name}(${a}, ${b})`);
        evaluates(`${name}(${a}, ${b}, ${c})`);
      }),
      { numRuns: casesOf(500, 1500) },
    );
    fc.assert(
      fc.property(pairs, ([a, b, c]) => {
        evaluates(`(${a}) in (${b}, ${c})`);
        evaluates(`(${a}) between (${b}) and (${c})`);
        evaluates(`case ${a} when ${b} then ${c} else ${a} end`);
        evaluates(`case when ${a} then ${b} else ${c} end`);
        evaluates(`(${a})[${b}]`);
        evaluates(`- (${a})`);
      }),
      { numRuns: casesOf(500, 1500) },
    );
  });

  const types = fc.constantFrom(
    'boolean',
    'tinyint',
    'int',
    'bigint',
    'bigint unsigned',
    'float',
    'double',
    'decimal(10, 2)',
    'string',
    'binary',
    'date',
    'time',
    'timestamp',
    'timestamp(9)',
    'timestamptz',
  );

  it('casts every type to every other or refuses it', () => {
    fc.assert(
      fc.property(operands, types, types, (operand, first, second) => {
        evaluates(`cast(${operand} as ${first})`);
        evaluates(`cast(cast(${operand} as ${first}) as ${second})`);
        evaluates(`try_cast(try_cast(${operand} as ${first}) as ${second})`);
      }),
      { numRuns: casesOf(500, 1500) },
    );
  });
});
