import {
  DateDay,
  Decimal,
  DurationMillisecond,
  Float32,
  Float64,
  Int16,
  Int32,
  Int64,
  Int8,
  TimestampMicrosecond,
  TimestampNanosecond,
  TimestampSecond,
  Uint32,
  Uint64,
  Uint8,
  Utf8,
} from 'apache-arrow';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ask, batchOf, column, constant, refusal, typeOf } from '../support.ts';

const batch = batchOf({
  i8: column(new Int8(), [7, -7, null]),
  i16: column(new Int16(), [300, -300, 1]),
  i32: column(new Int32(), [7, -7, null]),
  i64: column(new Int64(), [9_007_199_254_740_993n, -7n, null]),
  u8: column(new Uint8(), [200, 0, null]),
  u32: column(new Uint32(), [4_294_967_295, 0, 1]),
  u64: column(new Uint64(), [1n, 2n, null]),
  f32: column(new Float32(), [1.5, -2.5, null]),
  f64: column(new Float64(), [1.5, -2.5, null]),
  zero: column(new Int32(), [0, 1, 0]),
  holes: column(new Int32(), [null, 2, null]),
  s: column(new Utf8(), ['1', '2', null]),
  d: column(new DateDay(), [new Date('2024-01-31'), new Date('1969-12-31'), null]),
  ts: column(new TimestampMicrosecond(), [1_706_659_200_000, -1000, null]),
  secs: column(new TimestampSecond(), [1_706_659_200_000, -1000, null]),
  span: column(new DurationMillisecond(), [1n, -1n, null]),
  price: column(new Decimal(2, 10, 128), [
    Uint32Array.of(110, 0, 0, 0),
    Uint32Array.of(5, 0, 0, 0),
    null,
  ]),
});

describe('numbers', () => {
  it.each([
    ['i8 + 1', 'Int8', [8, -6, null]],
    ['i8 + 300', 'Int64', [307n, 293n, null]],
    ['i8 + i16', 'Int16', [307, -307, null]],
    ['i8 + u8', 'Int16', [207, -7, null]],
    ['u8 + 1', 'Uint8', [201, 1, null]],
    ['u8 - i8', 'Int16', [193, 7, null]],
    ['u32 + i8', 'Int64', [4_294_967_302n, -7n, null]],
    ['u32 * i16', 'Int64', [1_288_490_188_500n, 0n, 1n]],
    ['u64 - 1', 'Uint64', [0n, 1n, null]],
    ['u64 - i64', 'Int64', [-9_007_199_254_740_992n, 9n, null]],
    ['i32 / 2', 'Int32', [3, -3, null]],
    ['i32 % 4', 'Int32', [3, -3, null]],
    ['i64 / 2', 'Int64', [4_503_599_627_370_496n, -3n, null]],
    ['i64 % 10', 'Int64', [3n, -7n, null]],
    ['i64 + 0', 'Int64', [9_007_199_254_740_993n, -7n, null]],
    ['i64 * i8', 'Int64', [63_050_394_783_186_951n, 49n, null]],
    ['i32 / 2.0', 'Float64', [3.5, -3.5, null]],
    ['i32 + f32', 'Float64', [8.5, -9.5, null]],
    ['f32 + 1', 'Float32', [2.5, -1.5, null]],
    ['f32 + 0.1', 'Float32', [Math.fround(1.6), Math.fround(-2.4), null]],
    ['f32 * f64', 'Float64', [2.25, 6.25, null]],
    ['f64 / 0', 'Float64', [Infinity, -Infinity, null]],
    ['f64 % 2', 'Float64', [1.5, -0.5, null]],
    ['f64 % 0', 'Float64', [NaN, NaN, null]],
    ['-i8', 'Int8', [-7, 7, null]],
    ['-u8', 'Int16', [-200, 0, null]],
    ['-u64', 'Int64', [-1n, -2n, null]],
    ['-f32', 'Float32', [-1.5, 2.5, null]],
    ['- -i64', 'Int64', [9_007_199_254_740_993n, -7n, null]],
    ['+i8', 'Int8', [7, -7, null]],
    ['i8 + null', 'Int8', [null, null, null]],
    ['mod(i32, 4)', 'Int32', [3, -3, null]],
    ['price + 1', 'Decimal[38e+2]', ['210', '105', null]],
    ['price - 0.125', 'Decimal[38e+3]', ['975', '-75', null]],
    ['price * price', 'Decimal[38e+4]', ['12100', '25', null]],
    ['price * i8', 'Decimal[38e+2]', ['770', '-35', null]],
    ['price + f64', 'Float64', [2.6, -2.45, null]],
    ['price / f64', 'Float64', [1.1 / 1.5, -0.02, null]],
    ['price / price', 'Decimal[38e+6]', ['1000000', '1000000', null]],
    ['-price', 'Decimal[10e+2]', ['-110', '-5', null]],
  ])('%s is %s', (text, type, values) => {
    expect(typeOf(text, batch)).toBe(type);
    expect(ask(text, batch)).toEqual(values);
  });

  it('reads nothing from rows that are null', () => {
    expect(ask('i32 / holes', batch)).toEqual([null, -3, null]);
    expect(
      ask('holes * 2000000000 / holes', batchOf({ holes: column(new Int32(), [null, 1]) })),
    ).toEqual([null, 2_000_000_000]);
  });

  it.each([
    [
      '9223372036854775807 + 1',
      'overflow: expected a result within int64, found 9223372036854775807 + 1, at position 21',
    ],
    [
      '-9223372036854775808 - 1',
      'overflow: expected a result within int64, found -9223372036854775808 - 1, at position 22',
    ],
    [
      '-(-9223372036854775808)',
      'overflow: expected a result within int64, found -(-9223372036854775808), at position 1',
    ],
    [
      '-9223372036854775808 / -1',
      'overflow: expected a result within int64, found -9223372036854775808 / -1, at position 22',
    ],
    [
      '3037000500 * 3037000500',
      'overflow: expected a result within int64, found 3037000500 * 3037000500, at position 12',
    ],
    ['i8 * 20', 'overflow: expected a result within int8, found 7 * 20, at position 4'],
    ['u8 - 1', 'overflow: expected a result within uint8, found 0 - 1, at position 4'],
    ['u64 - 2', 'overflow: expected a result within uint64, found 1 - 2, at position 5'],
    ['u32 * 2', 'overflow: expected a result within uint32, found 4294967295 * 2, at position 5'],
    [
      'i64 * i64 * i64',
      'overflow: expected a result within int64, found 9007199254740993 * 9007199254740993, at position 5',
    ],
    ['1 / 0', 'value: expected a divisor other than zero, found 1 / 0, at position 3'],
    ['i8 % 0', 'value: expected a divisor other than zero, found 7 % 0, at position 4'],
    [
      'i64 / zero',
      'value: expected a divisor other than zero, found 9007199254740993 / 0, at position 5',
    ],
    ['1e400', 'overflow: expected a number within float64, found 1e400, at position 1'],
    ['s + 1', 'type: expected operands that + is defined for, found string + int64, at position 3'],
    ['d + 1', 'type: expected operands that + is defined for, found date + int64, at position 3'],
    [
      "d * interval '1 day'",
      'type: expected operands that * is defined for, found date * interval, at position 3',
    ],
    [
      "interval '1 day' - d",
      'type: expected operands that - is defined for, found interval - date, at position 18',
    ],
    [
      'cast(7 as decimal(10, 2)) / cast(0 as decimal(10, 2))',
      'value: expected a divisor other than zero, found 7.00 / 0.00, at position 27',
    ],
    [
      'cast(7 as decimal(10, 2)) % 0',
      'value: expected a divisor other than zero, found 7.00 % 0, at position 27',
    ],
    [
      "cast('1e35' as decimal(38, 2)) / cast('0.001' as decimal(5, 3))",
      'overflow: expected a result within decimal(38, 6), found 100000000000000000000000000000000000000000000 / 1, at position 32',
    ],
    ['-s', 'type: expected a number after -, found string, at position 1'],
  ])('%s is refused', (text, message) => {
    expect(refusal(text, batch)).toBe(message);
  });

  it.each([
    ['cast(7 as decimal(10, 2)) / 3', 'Decimal[38e+6]', '2333333'],
    ['cast(-2 as decimal(10, 2)) / cast(3.5 as decimal(10, 3))', 'Decimal[38e+6]', '-571428'],
    ['3 / cast(17 as decimal(10, 2))', 'Decimal[38e+4]', '1764'],
    ['1 / cast(3 as decimal(38, 36))', 'Decimal[38e+4]', '3333'],
    ['cast(1 as decimal(38, 36)) / 3', 'Decimal[38e+38]', '33333333333333333333333333333333333333'],
    ['cast(7 as decimal(10, 2)) % 3', 'Decimal[38e+2]', '100'],
    ['cast(-7 as decimal(10, 2)) % cast(2.5 as decimal(10, 3))', 'Decimal[38e+3]', '-2000'],
    ['cast(7 as decimal(10, 2)) / null', 'Decimal[38e+6]', null],
  ])('%s is %s', (text, type, value) => {
    expect(typeOf(text, batch)).toBe(type);
    expect(constant(text)).toBe(value);
  });

  it('computes int64 as bigint does, or refuses', () => {
    const edge = fc.oneof(
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      fc.bigInt({ min: -9n, max: 9n }),
    );
    const operators = {
      '+': (a: bigint, b: bigint) => a + b,
      '-': (a: bigint, b: bigint) => a - b,
      '*': (a: bigint, b: bigint) => a * b,
      '/': (a: bigint, b: bigint) => (b === 0n ? null : a / b),
      '%': (a: bigint, b: bigint) => (b === 0n ? null : a % b),
    };
    fc.assert(
      fc.property(
        edge,
        edge,
        fc.constantFrom(...(['+', '-', '*', '/', '%'] as const)),
        (a, b, operator) => {
          const values = batchOf({ a: column(new Int64(), [a]), b: column(new Int64(), [b]) });
          const exact = operators[operator](a, b);
          const text = `a ${operator} b`;
          if (exact === null) {
            expect(refusal(text, values)).toMatch(/^value: expected a divisor other than zero/);
          } else if (BigInt.asIntN(64, exact) !== exact) {
            expect(refusal(text, values)).toMatch(/^overflow: expected a result within int64/);
          } else {
            expect(ask(text, values)).toEqual([exact]);
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('dates and times', () => {
  const day = 86_400_000_000n;
  it.each([
    ["d + interval '1 month'", 'Date32<DAY>', [19_782, 30, null]],
    ["d - interval '1 day'", 'Date32<DAY>', [19_752, -2, null]],
    ["interval '1 year' + d", 'Date32<DAY>', [20_119, 364, null]],
    [
      "d + interval '12 hours'",
      'Timestamp<MICROSECOND>',
      [1_706_702_400_000_000n, -43_200_000_000n, null],
    ],
    [
      "ts + interval '1 month'",
      'Timestamp<MICROSECOND>',
      [1_709_164_800_000_000n, 2_678_399_000_000n, null],
    ],
    [
      "ts - interval '00:00:00.000001'",
      'Timestamp<MICROSECOND>',
      [1_706_659_199_999_999n, -1_000_001n, null],
    ],
    [
      "ts + -interval '1 day'",
      'Timestamp<MICROSECOND>',
      [1_706_659_200_000_000n - day, -1_000_000n - day, null],
    ],
    ['ts - ts', 'Duration<MICROSECOND>', [0n, 0n, null]],
    ['ts - secs', 'Duration<MICROSECOND>', [0n, 0n, null]],
    ['ts - d', 'Duration<MICROSECOND>', [0n, 86_399_000_000n, null]],
    ["d - date '2024-01-01'", 'Int64', [30n, -19_724n, null]],
    ['secs + span', 'Timestamp<MILLISECOND>', [1_706_659_200_001n, -1001n, null]],
    ['span + d', 'Timestamp<MILLISECOND>', [1_706_659_200_001n, -86_400_001n, null]],
    ['span - span', 'Duration<MILLISECOND>', [0n, 0n, null]],
  ])('%s is %s', (text, type, values) => {
    expect(typeOf(text, batch)).toBe(type);
    expect(ask(text, batch)).toEqual(values);
  });

  it('keeps nanoseconds and the zone', () => {
    const stamps = batchOf({ ns: column(new TimestampNanosecond('UTC'), [0, 1]) });
    expect(typeOf("ns + interval '1 nanosecond'", stamps)).toBe('Timestamp<NANOSECOND, UTC>');
    expect(ask("ns + interval '1 nanosecond'", stamps)).toEqual([1n, 1_000_001n]);
  });

  it('refuses what lies beyond the type', () => {
    const stamps = batchOf({
      ns: column(new TimestampNanosecond(), [0]),
    });
    expect(refusal("ns + interval '300 years'", stamps)).toBe(
      'overflow: expected a result within timestamp(ns), found 9467107200000000000 steps, at position 4',
    );
  });

  it('moves to the last day of a shorter month', () => {
    expect(constant("date '2024-01-31' + interval '1 month' = date '2024-02-29'")).toBe(true);
    expect(constant("date '2023-03-31' - interval '1 month' = date '2023-02-28'")).toBe(true);
    expect(constant("date '2024-02-29' - interval '4 years' = date '2020-02-29'")).toBe(true);
  });
});
