import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SqlError } from '../../src/sql/values/sql-error.ts';
import type { Expression } from '../../src/sql/values/expression.ts';
import { parseExpression } from '../../src/sql/parse.ts';
import { printExpression } from './print.ts';
import { expressionTexts } from './expression-texts.ts';
import { refusal } from './support.ts';
import { casesOf } from '../support/cases.ts';

/** The tree without its positions. */
function shape(expression: Expression): unknown {
  return JSON.parse(
    JSON.stringify(expression, (key, value: unknown) =>
      key === 'position' ? undefined : typeof value === 'bigint' ? `${value}n` : value,
    ),
  );
}

describe('precedence', () => {
  it.each([
    ['a or b and c', 'a OR (b AND c)'],
    ['not a and b', '(NOT a) AND b'],
    ['not a = b', 'NOT (a = b)'],
    ['not a is null', 'NOT (a IS NULL)'],
    ['a = b is null', '(a = b) IS NULL'],
    ['a = b = c', '(a = b) = c'],
    ['a + b * c', 'a + (b * c)'],
    ['a - b - c', '(a - b) - c'],
    ['a * b % c / d', '((a * b) % c) / d'],
    ['a || b + c', 'a || (b + c)'],
    ['a || b = c', '(a || b) = c'],
    ['-a * b', '(-a) * b'],
    ['-a.b', '-(a.b)'],
    ['-a::int', '-(CAST(a AS int))'],
    ['-1::int', 'CAST(-1 AS int)'],
    ['a - -1', 'a - (-1)'],
    ['a between b and c and d', '(a BETWEEN b AND c) AND d'],
    ['a between b + 1 and c or d', '(a BETWEEN (b + 1) AND c) OR d'],
    ['a like b || c and d', '(a LIKE (b || c)) AND d'],
    ['a in (b) = c', '(a IN (b)) = c'],
    ['a is not distinct from b and c', '(a IS NOT DISTINCT FROM b) AND c'],
    ['case when a then b else c end = d', '(CASE WHEN a THEN b ELSE c END) = d'],
    ['a[1].b', '(a[1]).b'],
    ['a::int + 1', '(CAST(a AS int)) + 1'],
  ])('reads %s as %s', (text, explicit) => {
    expect(shape(parseExpression(text))).toEqual(shape(parseExpression(explicit)));
  });

  it('keeps a chain of one operator in one node', () => {
    const chain = Array.from({ length: 5000 }, (_, at) => `a = ${at}`).join(' or ');
    const expression = parseExpression(chain);
    expect(expression.kind === 'or' && expression.operands.length).toBe(5000);
  });
});

describe('literals', () => {
  it.each([
    ["'it''s'", { type: 'text', value: "it's" }],
    ["''", { type: 'text', value: '' }],
    ["X'00fF'", { type: 'binary', hex: '00ff' }],
    ['9223372036854775807', { type: 'integer', value: 9223372036854775807n }],
    ['-9223372036854775808', { type: 'integer', value: -9223372036854775808n }],
    ['007', { type: 'integer', value: 7n }],
    ['1.50', { type: 'number', text: '1.50' }],
    ['.5', { type: 'number', text: '.5' }],
    ['-1e-3', { type: 'number', text: '-1e-3' }],
    ['TRUE', { type: 'boolean', value: true }],
    ['null', { type: 'null' }],
    ["date '2024-02-29'", { type: 'date', days: 19782 }],
    ["DATE '1969-12-31'", { type: 'date', days: -1 }],
    ["time '23:59:59.5'", { type: 'time', nanoseconds: 86_399_500_000_000n }],
    [
      "timestamp '1970-01-02T00:00:01.000001'",
      { type: 'timestamp', nanoseconds: 86_401_000_001_000n, zoned: false },
    ],
    [
      "timestamp '1970-01-01 01:00:00+02:00'",
      { type: 'timestamp', nanoseconds: -3_600_000_000_000n, zoned: true },
    ],
    ["timestamp '1970-01-01'", { type: 'timestamp', nanoseconds: 0n, zoned: false }],
  ])('reads %s', (text, value) => {
    expect(parseExpression(text)).toEqual({ kind: 'literal', position: 1, value });
  });

  it.each([
    ["interval '1 day'", { months: 0, days: 1, nanoseconds: 0n }],
    ["interval '1' month", { months: 1, days: 0, nanoseconds: 0n }],
    ['interval 2 weeks', { months: 0, days: 14, nanoseconds: 0n }],
    ["interval '1 year 2 mons -3 days'", { months: 14, days: -3, nanoseconds: 0n }],
    ["interval '-1.5 hours'", { months: 0, days: 0, nanoseconds: -5_400_000_000_000n }],
    ["interval '1 day 02:00:30.25'", { months: 0, days: 1, nanoseconds: 7_230_250_000_000n }],
  ])('reads %s', (text, interval) => {
    const value = { type: 'interval', interval };
    expect(parseExpression(text)).toEqual({ kind: 'literal', position: 1, value });
  });
});

describe('names', () => {
  it('keeps case, takes backticks and double quotes, and reads a path', () => {
    expect(parseExpression('Name')).toMatchObject({ path: [{ text: 'Name', quoted: false }] });
    expect(parseExpression('`a``b`."c ""d"".e".select')).toMatchObject({
      path: [
        { text: 'a`b', quoted: true },
        { text: 'c "d".e', quoted: true },
        { text: 'select', quoted: false },
      ],
    });
    expect(parseExpression('größe')).toMatchObject({ path: [{ text: 'größe' }] });
  });

  it('reads words that start literals as columns where no literal follows', () => {
    expect(parseExpression("date > '2024'")).toMatchObject({ left: { kind: 'column' } });
    expect(parseExpression('interval = timestamp')).toMatchObject({ kind: 'comparison' });
  });
});

describe('special calls', () => {
  it.each([
    ['extract(YEAR from a)', "date_part('year', a)"],
    ['substring(a from 2 for 3)', 'substr(a, 2, 3)'],
    ['substring(a, 2)', 'substr(a, 2)'],
    ['trim(a)', 'trim(a)'],
    ["trim(both 'x' from a)", "trim(a, 'x')"],
    ["trim(leading 'x' from a)", "ltrim(a, 'x')"],
    ['trim(trailing from a)', 'rtrim(a)'],
    ["position('x' in a)", "strpos(a, 'x')"],
  ])('reads %s as %s', (text, plain) => {
    expect(printExpression(parseExpression(text))).toBe(plain);
  });
});

describe('refusals', () => {
  it.each([
    ['', 'syntax: expected an expression, found the end of the text, at position 1'],
    ['a =', 'syntax: expected an expression, found the end of the text, at position 4'],
    ['a = = b', 'syntax: expected an expression, found "=", at position 5'],
    ['a b', 'syntax: expected an operator or the end of the text, found "b", at position 3'],
    ['(a', 'syntax: expected ")", found the end of the text, at position 3'],
    ['a)', 'syntax: expected an operator or the end of the text, found ")", at position 2'],
    ["'a", "syntax: expected ' to end the string, found the end of the text, at position 1"],
    ['`a', 'syntax: expected ` to end the quoted name, found the end of the text, at position 1'],
    ['""', 'syntax: expected a name between the quotes, found nothing, at position 1'],
    ["X'0'", "syntax: expected pairs of hexadecimal digits in X'...', found '0', at position 1"],
    ['1abc', 'syntax: expected the number 1 to end, found "a", at position 2'],
    ['a -- b', 'syntax: expected an expression, found a comment, at position 3'],
    ['a /* b */', 'syntax: expected an expression, found a comment, at position 3'],
    ['a; b', 'syntax: expected an expression, found the character ";", at position 2'],
    ["'😀' #", 'syntax: expected an expression, found the character "#", at position 5'],
    ['a in b', 'syntax: expected "(", found "b", at position 6'],
    ['a in ()', 'syntax: expected an expression, found ")", at position 7'],
    ['a not b', 'syntax: expected an operator or the end of the text, found "not", at position 3'],
    ['a between 1 or 2', 'syntax: expected AND, found "or", at position 13'],
    [
      'a is 5',
      'syntax: expected NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM, found "5", at position 6',
    ],
    ['case a end', 'syntax: expected WHEN, found "end", at position 8'],
    ['case when a then b', 'syntax: expected END, found the end of the text, at position 19'],
    ['try_cast(a as 5)', 'syntax: expected the name of a type, found "5", at position 15'],
    ['cast(a as 5)', 'syntax: expected the name of a type, found "5", at position 11'],
    ['cast(a as decimal(x))', 'syntax: expected a whole number, found "x", at position 19'],
    [
      "a like 'b' escape 5",
      'syntax: expected the character of ESCAPE in quotes, found "5", at position 19',
    ],
    [
      "a like 'b' escape 'cd'",
      "value: expected one character after ESCAPE, found 'cd', at position 19",
    ],
    ['a.', 'syntax: expected the name of a field, found the end of the text, at position 3'],
    ['count(*)', 'syntax: expected an expression, found "*", at position 7'],
    ['select a', 'syntax: expected an expression, found "select", at position 1'],
    [
      "date '2023-02-29'",
      "value: expected a date such as 2024-02-29, found '2023-02-29', at position 6",
    ],
    ["time '24:00'", "value: expected a time such as 23:59:59.5, found '24:00', at position 6"],
    [
      "timestamp 'now'",
      "value: expected a timestamp such as 2024-02-29 23:59:59, found 'now', at position 11",
    ],
    [
      "interval '1 fortnight'",
      "value: expected an interval such as '1 day 2 hours', found '1 fortnight', at position 10",
    ],
    [
      "interval '0.5 months'",
      "value: expected an interval such as '1 day 2 hours', found '0.5 months', at position 10",
    ],
    [
      '1'.repeat(39),
      'overflow: expected a whole number of at most 38 digits, found 39 digits, at position 1',
    ],
  ])('refuses %s', (text, message) => {
    expect(refusal(text)).toBe(message);
  });
});

describe('the tree', () => {
  it('is frozen all the way down', () => {
    const frozen = (value: unknown): boolean =>
      typeof value !== 'object' ||
      value === null ||
      (Object.isFrozen(value) && Object.values(value).every(frozen));
    const text =
      "case a.b when 1 then [c, 'd'] else x(e::int) end in (1, 2) or not f like 'g' and h || i || -j";
    expect(frozen(parseExpression(text))).toBe(true);
  });

  it('is the same after it was printed and read', () => {
    fc.assert(
      fc.property(expressionTexts, (text) => {
        const expression = parseExpression(text);
        const printed = printExpression(expression);
        expect(shape(parseExpression(printed))).toEqual(shape(expression));
        expect(printExpression(parseExpression(printed))).toBe(printed);
      }),
      { numRuns: casesOf(500, 1500) },
    );
  });
});

describe('any text', () => {
  const pieces = fc.constantFrom(
    'a',
    '`b`',
    '"c"',
    "'d'",
    '1',
    '2.5',
    '(',
    ')',
    '[',
    ']',
    ',',
    '.',
    '+',
    '-',
    '*',
    '/',
    '=',
    '<',
    '||',
    '::',
    ' and ',
    ' or ',
    ' not ',
    ' in ',
    ' is ',
    ' null ',
    ' like ',
    ' between ',
    ' case ',
    ' when ',
    ' then ',
    ' end ',
    ' cast(',
    ' as ',
    ' int ',
    ' escape ',
    "interval '1 day'",
    'date ',
    "x'00'",
    '--',
    '\u{1f600}',
    "'",
    '`',
  );
  const read = (text: string): void => {
    try {
      parseExpression(text);
    } catch (error) {
      expect(error).toBeInstanceOf(SqlError);
      const { position } = error as SqlError;
      expect(position >= 1 && position <= Array.from(text).length + 1).toBe(true);
    }
  };

  it('is read or refused with a position in it', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), read), { numRuns: casesOf(500, 1500) });
    fc.assert(
      fc.property(
        fc.array(pieces, { maxLength: 30 }).map((all) => all.join('')),
        read,
      ),
      { numRuns: casesOf(500, 1500) },
    );
  });
});
