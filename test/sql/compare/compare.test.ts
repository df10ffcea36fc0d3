import {
  Binary,
  DateDay,
  Decimal,
  Float32,
  Float64,
  Int16,
  Int32,
  Int64,
  Int8,
  TimestampMillisecond,
  TimestampSecond,
  TimeMillisecond,
  Uint16,
  Uint32,
  Uint64,
  Uint8,
  Utf8,
} from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { ask, batchOf, column, refusal, select } from '../support.ts';

const big = 9_007_199_254_740_993n;
const batch = batchOf({
  i8: column(new Int8(), [-128, 0, 127, null]),
  i16: column(new Int16(), [-32768, 0, 32767, null]),
  i32: column(new Int32(), [-2147483648, 0, 2147483647, null]),
  i64: column(new Int64(), [-(2n ** 63n), big, 2n ** 63n - 1n, null]),
  u8: column(new Uint8(), [0, 1, 255, null]),
  u16: column(new Uint16(), [0, 1, 65535, null]),
  u32: column(new Uint32(), [0, 1, 4294967295, null]),
  u64: column(new Uint64(), [0n, big, 2n ** 64n - 1n, null]),
  f32: column(new Float32(), [0.1, NaN, -0, null]),
  f64: column(new Float64(), [0.1, NaN, Infinity, null]),
  whole: column(new Float64(), [9_007_199_254_740_992, -1, 1e300, null]),
  s: column(new Utf8(), ['abc', 'abd', 'ä', null]),
  x: column(new Binary(), [Uint8Array.of(0, 255), Uint8Array.of(), Uint8Array.of(1), null]),
  d: column(new DateDay(), [
    new Date('1970-01-02'),
    new Date('1969-12-31'),
    new Date('2024-02-29'),
    null,
  ]),
  ts: column(new TimestampMillisecond(), [86_400_000, -1, 0, null]),
  secs: column(new TimestampSecond(), [86_400_000, -1000, 0, null]),
  t: column(new TimeMillisecond(), [0, 1500, 86_399_999, null]),
  price: column(new Decimal(2, 10, 128), [
    Uint32Array.of(110, 0, 0, 0),
    Uint32Array.of(0xffffff92, 0xffffffff, 0xffffffff, 0xffffffff),
    Uint32Array.of(5, 0, 0, 0),
    null,
  ]),
});

describe('a column and a literal', () => {
  it.each([
    ['i8 < 0', [0]],
    ['i8 >= -128', [0, 1, 2]],
    ['i8 = 128', []],
    ['i8 < 128', [0, 1, 2]],
    ['i8 <> 1000000000000', [0, 1, 2]],
    ['i16 > -32768', [1, 2]],
    ['i32 = 2147483647', [2]],
    ['i32 <= 0.5', [0, 1]],
    [`i64 = ${big}`, [1]],
    ['i64 = 9007199254740992', []],
    ['i64 > 9007199254740992', [1, 2]],
    ['i64 < 9007199254740993.0', [0]],
    ['i64 = 9223372036854775807', [2]],
    ['i64 <= 9223372036854775808', [0, 1, 2]],
    ['i64 > -9223372036854775808', [1, 2]],
    ['i64 > -1e300', [0, 1, 2]],
    ['i64 >= 0.5', [1, 2]],
    ['i64 = 0.5', []],
    ['i64 <> 0.5', [0, 1, 2]],
    ['u8 > -1', [0, 1, 2]],
    ['u16 = 65535', [2]],
    ['u32 = 4294967295', [2]],
    ['u64 = 18446744073709551615', [2]],
    ['u64 < 18446744073709551616', [0, 1, 2]],
    ['u64 > -1', [0, 1, 2]],
    ['f32 = 0.1', [0]],
    ['f64 = 0.1', [0]],
    ['f64 > 1', [1, 2]],
    ['f64 >= 0.1', [0, 1, 2]],
    ['f64 < 1', [0]],
    ['f64 <> 0.1', [1, 2]],
    ['whole = 9007199254740993', []],
    ['whole < 9007199254740993', [0, 1]],
    ['whole = 9007199254740992', [0]],
    ["s = 'abc'", [0]],
    ["s <> 'abc'", [1, 2]],
    ["s > 'abc'", [1, 2]],
    ["s <= 'abcd'", [0]],
    ["s = ''", []],
    ["s >= ''", [0, 1, 2]],
    ["'abd' = s", [1]],
    ["'abd' < s", [2]],
    ["x = X'00ff'", [0]],
    ["x < X'01'", [0, 1]],
    ["d = '1970-01-02'", [0]],
    ["d < date '1970-01-01'", [1]],
    ["d > '1970-01-01 12:00:00'", [0, 2]],
    ["ts = timestamp '1970-01-02'", [0]],
    ["ts < '1970-01-01'", [1]],
    ["ts >= '1970-01-01 00:00:00.0001'", [0]],
    ["ts = '1969-12-31T23:59:59.999Z'", [1]],
    ["ts = '1970-01-01 00:00:00.0000001'", []],
    ["ts > date '1970-01-01'", [0]],
    ["secs < '1969-12-31 23:59:59.5'", [1]],
    ["secs <= '1969-12-31 23:59:58.5'", []],
    ["t = '00:00:01.5'", [1]],
    ["t > time '23:59:59.9985'", [2]],
    ['price = 1.1', [0]],
    ['price = 1.10', [0]],
    ['price > 1', [0]],
    ['price < 0.005', [1]],
    ['price >= 0.05', [0, 2]],
    ['price <> -1.1', [0, 2]],
    ['price < 1e300', [0, 1, 2]],
  ])('%s', (text, rows) => {
    expect(select(text, batch)).toEqual(rows);
    expect(ask(text, batch)[3]).toBeNull();
    expect(select(`not (${text})`, batch)).toEqual([0, 1, 2].filter((row) => !rows.includes(row)));
  });
});

describe('two columns', () => {
  it.each([
    ['i8 = i8', [true, true, true, null]],
    ['i8 < i64', [false, true, true, null]],
    ['i64 = u64', [false, true, false, null]],
    ['u64 > i64', [true, false, true, null]],
    ['i64 > f64', [false, false, false, null]],
    ['whole < u64', [false, true, false, null]],
    ['i64 > whole', [false, true, false, null]],
    ['f32 = f64', [false, true, false, null]],
    ['f32 <= f64', [false, true, true, null]],
    ['f64 < f64', [false, false, false, null]],
    ['f64 >= i32', [true, true, true, null]],
    ['s < s', [false, false, false, null]],
    ['s >= substr(s, 1, 2)', [true, true, true, null]],
    ['d = ts', [true, false, false, null]],
    ['ts < d', [false, false, true, null]],
    ['price < i64', [false, true, true, null]],
    ['price = price', [true, true, true, null]],
    ['price > f64', [true, false, false, null]],
    ['s is distinct from s', [false, false, false, false]],
    ['i8 is not distinct from i16', [false, true, false, true]],
    ['i8 is distinct from null', [true, true, true, false]],
  ])('%s', (text, values) => {
    expect(ask(text, batch)).toEqual(values);
  });
});

describe('IN and BETWEEN', () => {
  it.each([
    ['i8 in (-128, 127, 300, 0.5)', [true, false, true, null]],
    ['i8 not in (-128, 127)', [false, true, false, null]],
    ['i8 in (0, null)', [null, true, null, null]],
    ['i8 not in (0, null)', [null, false, null, null]],
    [`i64 in (${big}, 5)`, [false, true, false, null]],
    ['i64 in (9007199254740992, 9223372036854775807)', [false, false, true, null]],
    ['i64 in (9007199254740991, 1)', [false, false, false, null]],
    ['u64 in (18446744073709551615, -1)', [false, false, true, null]],
    ['u64 in (-1, 0)', [true, false, false, null]],
    ['f64 in (0.1, 7)', [true, false, false, null]],
    ['f32 in (0.1, 0)', [true, false, true, null]],
    ['whole in (9007199254740993)', [false, false, false, null]],
    ["s in ('ä', 'abc', 'abc', '')", [true, false, true, null]],
    ["s not in ('ä')", [true, true, false, null]],
    ["x in (X'', X'01')", [false, true, true, null]],
    ["d in ('1970-01-02', date '2024-02-29')", [true, false, true, null]],
    ["ts in ('1970-01-02', '1970-01-01 00:00:00.0001')", [true, false, false, null]],
    ['price in (1.1, 0.055, 5)', [true, false, false, null]],
    ['i8 in (i16, 127)', [false, true, true, null]],
    ['i8 not in (i16, null)', [null, false, null, null]],
    ['i16 in (i8 * 1, null, 32767)', [null, true, true, null]],
    ['i8 between -1 and 127', [false, true, true, null]],
    ['i8 not between -1 and 127', [true, false, false, null]],
    ['i8 between 1 and -1', [false, false, false, null]],
    ['i8 between null and 0', [null, null, false, null]],
    ["s between 'abc' and 'abd'", [true, true, false, null]],
    ["d between '1970-01-01' and '2000-01-01'", [true, false, false, null]],
    ['(i8 > 0) in (true)', [false, false, true, null]],
  ])('%s', (text, values) => {
    expect(ask(text, batch)).toEqual(values);
  });

  it('finds members of a list of 20,000 texts and numbers', () => {
    const texts = Array.from({ length: 20_000 }, (_, at) => `'k${at}'`);
    expect(select(`s in (${texts.join(', ')}, 'abd')`, batch)).toEqual([1]);
    const numbers = Array.from({ length: 20_000 }, (_, at) => `${at + 1000}`);
    expect(select(`i64 in (${numbers.join(', ')}, ${big})`, batch)).toEqual([1]);
    expect(select(`i8 in (${numbers.join(', ')}, 127)`, batch)).toEqual([2]);
  });
});

describe('values that do not compare', () => {
  const message = (left: string, right: string, at: number): string =>
    `type: expected two values that compare with each other, found ${left} and ${right}, at position ${at}`;

  it.each([
    ['s = 1', message('string', 'int64', 3)],
    ["i64 > '1'", message('int64', 'string', 5)],
    ["i8 in ('a')", message('int8', 'string', 4)],
    ["f64 between 0 and 'a'", message('float64', 'string', 5)],
    ['s = true', message('string', 'bool', 3)],
    ['d = 18292', message('date', 'int64', 3)],
    ["x = 'a'", message('binary', 'string', 3)],
    ['t = ts', message('time(ms)', 'timestamp(ms)', 3)],
    ['price = s', message('decimal(10, 2)', 'string', 7)],
    ['d = s', message('date', 'string', 3)],
    [
      "d = 'soon'",
      "value: expected a date such as 2024-02-29 for date, found 'soon', at position 5",
    ],
    [
      "ts > '2024-13-01'",
      "value: expected a timestamp such as 2024-02-29 23:59:59 for timestamp(ms), found '2024-13-01', at position 6",
    ],
    [
      "t = '25:00'",
      "value: expected a time such as 23:59:59.5 for time(ms), found '25:00', at position 5",
    ],
  ])('%s', (text, expected) => {
    expect(refusal(text, batch)).toBe(expected);
  });
});
