import {
  Binary,
  Bool,
  DateDay,
  Decimal,
  Float32,
  Float64,
  Int32,
  Int64,
  TimestampMicrosecond,
  TimeSecond,
  Uint64,
  Utf8,
} from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { ask, batchOf, column, constant, refusal, typeOf } from '../support.ts';

const batch = batchOf({
  b: column(new Bool(), [true, false, null]),
  i: column(new Int64(), [9_007_199_254_740_993n, -7n, null]),
  small: column(new Int32(), [1, -7, null]),
  u: column(new Uint64(), [2n ** 64n - 1n, 0n, null]),
  f: column(new Float64(), [1.9, -1.9, null]),
  f32: column(new Float32(), [0.1, 16_777_216, null]),
  s: column(new Utf8(), ['12', ' -3 ', null]),
  x: column(new Binary(), [Uint8Array.of(97), Uint8Array.of(0xc3, 0xa4), null]),
  d: column(new DateDay(), [new Date('2024-02-29'), new Date('1969-12-31'), null]),
  ts: column(new TimestampMicrosecond(), [1_706_659_200_500, -1, null]),
  t: column(new TimeSecond(), [3661, 0, null]),
  price: column(new Decimal(2, 10, 128), [
    Uint32Array.of(155, 0, 0, 0),
    Uint32Array.of(0xffffff65, 0xffffffff, 0xffffffff, 0xffffffff),
    null,
  ]),
});

describe('casts', () => {
  it.each([
    ['cast(i as string)', 'Utf8', ['9007199254740993', '-7', null]],
    ['i::text', 'Utf8', ['9007199254740993', '-7', null]],
    ['cast(small as bigint)', 'Int64', [1n, -7n, null]],
    ['cast(small as double)', 'Float64', [1, -7, null]],
    ['cast(small as smallint)', 'Int16', [1, -7, null]],
    ['cast(small as boolean)', 'Bool', [true, true, null]],
    ['cast(i % 2 as tinyint)', 'Int8', [1, -1, null]],
    ['cast(u as float)', 'Float32', [2 ** 64, 0, null]],
    ['cast(u as string)', 'Utf8', ['18446744073709551615', '0', null]],
    ['cast(f as int)', 'Int32', [1, -1, null]],
    ['cast(f as bigint)', 'Int64', [1n, -1n, null]],
    ['cast(f as string)', 'Utf8', ['1.9', '-1.9', null]],
    ['cast(f as decimal(5, 1))', 'Decimal[5e+1]', ['19', '-19', null]],
    ['cast(f32 as double)', 'Float64', [Math.fround(0.1), 16_777_216, null]],
    ['cast(f32 as string)', 'Utf8', ['0.1', '16777216.0', null]],
    ['cast(b as int)', 'Int32', [1, 0, null]],
    ['cast(b as string)', 'Utf8', ['true', 'false', null]],
    ['cast(s as int)', 'Int32', [12, -3, null]],
    ['cast(s as double)', 'Float64', [12, -3, null]],
    ['cast(s as decimal(4, 2))', 'Decimal[4e+2]', ['1200', '-300', null]],
    ['cast(s as varchar(10))', 'Utf8', ['12', ' -3 ', null]],
    ['cast(x as string)', 'Utf8', ['a', 'ä', null]],
    ['cast(cast(s as binary) as string)', 'Utf8', ['12', ' -3 ', null]],
    ['cast(d as string)', 'Utf8', ['2024-02-29', '1969-12-31', null]],
    [
      'cast(d as timestamp)',
      'Timestamp<MICROSECOND>',
      [1_709_164_800_000_000n, -86_400_000_000n, null],
    ],
    ['cast(d as int)', 'Int32', [19_782, -1, null]],
    ['cast(ts as string)', 'Utf8', ['2024-01-31T00:00:00.500', '1969-12-31T23:59:59.999', null]],
    ['cast(ts as date)', 'Date32<DAY>', [19_753, -1, null]],
    ['cast(ts as timestamp(0))', 'Timestamp<SECOND>', [1_706_659_200n, -1n, null]],
    [
      'cast(ts as timestamp(9))',
      'Timestamp<NANOSECOND>',
      [1_706_659_200_500_000_000n, -1_000_000n, null],
    ],
    ['cast(ts as time)', 'Time64<MICROSECOND>', [500_000n, 86_399_999_000n, null]],
    ['cast(ts as bigint)', 'Int64', [1_706_659_200_500_000n, -1000n, null]],
    ['cast(t as string)', 'Utf8', ['01:01:01', '00:00:00', null]],
    ['cast(small as timestamp(3))', 'Timestamp<MILLISECOND>', [1n, -7n, null]],
    ['cast(small as decimal(5, 2))', 'Decimal[5e+2]', ['100', '-700', null]],
    ['cast(price as string)', 'Utf8', ['1.55', '-1.55', null]],
    ['cast(price as double)', 'Float64', [1.55, -1.55, null]],
    ['cast(price as int)', 'Int32', [1, -1, null]],
    ['cast(price as decimal(10, 1))', 'Decimal[10e+1]', ['16', '-16', null]],
    ['cast(null as int)', 'Int32', [null, null, null]],
  ])('%s is %s', (text, type, values) => {
    expect(typeOf(text, batch)).toBe(type);
    expect(ask(text, batch)).toEqual(values);
  });

  it.each([
    ["'t'::boolean", true],
    ["'NaN'::double", NaN],
    ["'-inf'::double", -Infinity],
    ["'1e3'::double", 1000],
    ['cast(1e16 as string)', '1e16'],
    ['cast(1e15 as string)', '1000000000000000.0'],
    ['cast(1.5e-5 as string)', '0.000015'],
    ['cast(1.5e-6 as string)', '1.5e-6'],
    ['cast(-0.0 as string)', '-0.0'],
    ["cast('inf'::double as string)", 'inf'],
    ["'2024-02-29T12:00:00+02:00'::timestamp(0) = timestamp '2024-02-29 10:00:00'", true],
    ["cast('2024-02-29 23:59:59' as date) = date '2024-02-29'", true],
    ["cast('12:30' as time) = time '12:30:00'", true],
    ["cast(time '12:30:00.25' as string)", '12:30:00.250'],
    ["cast(date '12024-01-01' as string)", '+12024-01-01'],
  ])('%s', (text, value) => {
    expect(constant(text)).toEqual(value);
  });

  const unfit = (type: string, found: string, at = 1): string =>
    `expected a value that ${type} can hold, found ${found}, at position ${at}`;

  it.each([
    ['cast(i as int)', `overflow: ${unfit('int32', '9007199254740993 of int64')}`],
    ['cast(small as int unsigned)', `overflow: ${unfit('uint32', '-7 of int32')}`],
    ['u::bigint', `overflow: ${unfit('int64', '18446744073709551615 of uint64', 2)}`],
    ['cast(f * 1e300 as bigint)', `overflow: ${unfit('int64', '1.9e300 of float64')}`],
    ["cast('nan'::double as int)", `overflow: ${unfit('int32', 'NaN of float64')}`],
    ['cast(f * 1e300 as float)', `overflow: ${unfit('float32', '1.9e300 of float64')}`],
    ["cast('1e60' as float)", `value: ${unfit('float32', "'1e60' of string")}`],
    ["cast('12x' as int)", `value: ${unfit('int32', "'12x' of string")}`],
    ["cast('1.0' as int)", `value: ${unfit('int32', "'1.0' of string")}`],
    ["cast('' as double)", `value: ${unfit('float64', "'' of string")}`],
    ["cast('maybe' as boolean)", `value: ${unfit('bool', "'maybe' of string")}`],
    ["cast('2023-02-29' as date)", `value: ${unfit('date', "'2023-02-29' of string")}`],
    [
      'cast(price * 100 as decimal(2, 0))',
      `overflow: ${unfit('decimal(2, 0)', '155.00 of decimal(38, 2)')}`,
    ],
    [
      "cast(date '9999-12-31' as timestamp(9))",
      `overflow: ${unfit('timestamp(ns)', '9999-12-31 of date')}`,
    ],
    ["cast(X'ff' as string)", "value: expected UTF-8, found X'ff', at position 1"],
    [
      'cast(s as date unsigned)',
      'type: expected the name of a type such as bigint, double or string, found date unsigned, at position 11',
    ],
    [
      'cast(s as foo(1, 2))',
      'type: expected the name of a type such as bigint, double or string, found foo(1, 2), at position 11',
    ],
    [
      'cast(s as decimal(39, 0))',
      'type: expected the name of a type such as bigint, double or string, found decimal(39, 0), at position 11',
    ],
    ['cast(b as date)', 'type: expected a value that casts to date, found bool, at position 1'],
    ['cast(x as int)', 'type: expected a value that casts to int32, found binary, at position 1'],
  ])('%s is refused', (text, message) => {
    expect(refusal(text, batch)).toBe(message);
  });
});
