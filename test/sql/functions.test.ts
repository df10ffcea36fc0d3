import {
  DateDay,
  Decimal,
  Field,
  FixedSizeList,
  Float64,
  Int32,
  Int64,
  List,
  TimestampMicrosecond,
  TimestampMillisecond,
  TimestampNanosecond,
  Uint64,
  Utf8,
} from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { functions } from '../../src/sql/functions/table.ts';
import { ask, batchOf, column, constant, refusal, typeOf } from './support.ts';

const batch = batchOf({
  s: column(new Utf8(), ['Ab c', 'é😀x', '', null]),
  n: column(new Int32(), [1, -2, 3, null]),
  k: column(new Int64(), [9_007_199_254_740_993n, -2n, 3n, null]),
  u: column(new Uint64(), [1n, 2n, 3n, null]),
  f: column(new Float64(), [1.5, -2.5, NaN, null]),
  price: column(new Decimal(2, 10, 128), [
    Uint32Array.of(155, 0, 0, 0),
    Uint32Array.of(0xffffff65, 0xffffffff, 0xffffffff, 0xffffffff),
    Uint32Array.of(5, 0, 0, 0),
    null,
  ]),
  d: column(new DateDay(), [
    new Date('2024-02-29'),
    new Date('1969-12-31'),
    new Date('2021-01-03'),
    null,
  ]),
  ts: column(new TimestampMicrosecond(), [1_709_211_661_250, -1, 1_609_675_200_000, null]),
  l: column(new List(new Field('item', new Int64(), true)), [[1n, 2n], [], [null, 5n], null]),
  v: column(new FixedSizeList(2, new Field('item', new Int32(), true)), [
    [1, 2],
    [3, 4],
    [5, 6],
    null,
  ]),
  tags: column(new List(new Field('item', new Utf8(), true)), [['a', 'b'], ['b', null], [], null]),
});

describe('text functions', () => {
  it.each([
    ['lower(s)', ['ab c', 'é😀x', '', null]],
    ['upper(s)', ['AB C', 'É😀X', '', null]],
    ['length(s)', [4, 3, 0, null]],
    ['char_length(s)', [4, 3, 0, null]],
    ['octet_length(s)', [4, 7, 0, null]],
    ["trim('  a ' || s || ' ')", ['a Ab c', 'a é😀x', 'a', null]],
    ["ltrim(s, 'bA')", [' c', 'é😀x', '', null]],
    ["rtrim(s, 'x😀')", ['Ab c', 'é', '', null]],
    ["trim(both 'éx' from s)", ['Ab c', '😀', '', null]],
    ['substr(s, 2)', ['b c', '😀x', '', null]],
    ['substr(s, 2, 1)', ['b', '😀', '', null]],
    ['substr(s, 0, 2)', ['A', 'é', '', null]],
    ['substr(s, -5)', ['Ab c', 'é😀x', '', null]],
    ['substr(s, 9223372036854775807)', ['', '', '', null]],
    ['substring(s from 1 for n + 2)', ['Ab ', '', '', null]],
    ['left(s, 2)', ['Ab', 'é😀', '', null]],
    ['left(s, -1)', ['Ab ', 'é😀', '', null]],
    ['right(s, 2)', [' c', '😀x', '', null]],
    ['right(s, -1)', ['b c', '😀x', '', null]],
    ["replace(s, 'b', 'BB')", ['ABB c', 'é😀x', '', null]],
    ["replace(s, '', 'x')", ['Ab c', 'é😀x', '', null]],
    ['reverse(s)', ['c bA', 'x😀é', '', null]],
    ['repeat(s, 2)', ['Ab cAb c', 'é😀xé😀x', '', null]],
    ['repeat(s, n)', ['Ab c', '', '', null]],
    ["lpad(s, 5, 'é😀')", ['éAb c', 'é😀é😀x', 'é😀é😀é', null]],
    ["rpad(s, 2, 'z')", ['Ab', 'é😀', 'zz', null]],
    ['lpad(s, 5)', [' Ab c', '  é😀x', '     ', null]],
    ["split_part(s, ' ', 2)", ['c', '', '', null]],
    ["split_part(s, ' ', -1)", ['c', 'é😀x', '', null]],
    ["strpos(s, 'x')", [0, 3, 0, null]],
    ["strpos(s, '')", [1, 1, 1, null]],
    ["position('c' in s)", [4, 0, 0, null]],
    ["starts_with(s, 'A')", [true, false, false, null]],
    ["starts_with(s, '')", [true, true, true, null]],
    ["ends_with(s, '😀x')", [false, true, false, null]],
    ["contains(s, 'b ')", [true, false, false, null]],
    ['contains(s, null)', [null, null, null, null]],
    ["concat(s, '-', n, null, f)", ['Ab c-11.5', 'é😀x--2-2.5', '-3NaN', '-']],
    ["s || '-' || n", ['Ab c-1', 'é😀x--2', '-3', null]],
    ["d || ''", ['2024-02-29', '1969-12-31', '2021-01-03', null]],
  ])('%s', (text, values) => {
    expect(ask(text, batch)).toEqual(values);
  });
});

describe('numeric functions', () => {
  it.each([
    ['abs(n)', 'Int32', [1, 2, 3, null]],
    ['abs(k)', 'Int64', [9_007_199_254_740_993n, 2n, 3n, null]],
    ['abs(f)', 'Float64', [1.5, 2.5, NaN, null]],
    ['abs(price)', 'Decimal[10e+2]', ['155', '155', '5', null]],
    ['ceil(f)', 'Float64', [2, -2, NaN, null]],
    ['ceil(k)', 'Int64', [9_007_199_254_740_993n, -2n, 3n, null]],
    ['ceil(price)', 'Decimal[10e+2]', ['200', '-100', '100', null]],
    ['floor(f)', 'Float64', [1, -3, NaN, null]],
    ['floor(price)', 'Decimal[10e+2]', ['100', '-200', '0', null]],
    ['trunc(f)', 'Float64', [1, -2, NaN, null]],
    ['round(f)', 'Float64', [2, -3, NaN, null]],
    ['round(f * 1.11, 1)', 'Float64', [1.7, -2.8, NaN, null]],
    ['round(k)', 'Int64', [9_007_199_254_740_993n, -2n, 3n, null]],
    ['round(price, 1)', 'Decimal[10e+2]', ['160', '-160', '10', null]],
    ['sqrt(u + 3)', 'Float64', [2, Math.sqrt(5), Math.sqrt(6), null]],
    ['power(n, 2)', 'Float64', [1, 4, 9, null]],
    ['pow(2, f)', 'Float64', [2 ** 1.5, 2 ** -2.5, NaN, null]],
    ['exp(n - n)', 'Float64', [1, 1, 1, null]],
    ['ln(n - n)', 'Float64', [-Infinity, -Infinity, -Infinity, null]],
    ['log10(100 * u)', 'Float64', [2, Math.log10(200), Math.log10(300), null]],
    ['log(2, u)', 'Float64', [0, 1, Math.log(3) / Math.log(2), null]],
    ['sign(f)', 'Float64', [1, -1, NaN, null]],
    ['is_nan(f)', 'Bool', [false, false, true, null]],
    ['isnan(n)', 'Bool', [false, false, false, null]],
    ['mod(k, 10)', 'Int64', [3n, -2n, 3n, null]],
    ['nanvl(f, n)', 'Float64', [1.5, -2.5, 3, null]],
    ['nanvl(n, null)', 'Float64', [1, -2, 3, null]],
    ['nanvl(f, null)', 'Float64', [1.5, -2.5, null, null]],
    ['pi()', 'Float64', [Math.PI, Math.PI, Math.PI, Math.PI]],
    ['radians(180 * u)', 'Float64', [Math.PI, 2 * Math.PI, 3 * Math.PI, null]],
    ['degrees(pi() * u)', 'Float64', [180, 360, 540, null]],
    ['sinh(f - f)', 'Float64', [0, 0, NaN, null]],
    ['cosh(f - f)', 'Float64', [1, 1, NaN, null]],
    ['tanh(f - f)', 'Float64', [0, 0, NaN, null]],
    ['asinh(f - f)', 'Float64', [0, 0, NaN, null]],
    ['acosh(u)', 'Float64', [0, Math.acosh(2), Math.acosh(3), null]],
    ['atanh(f - f)', 'Float64', [0, 0, NaN, null]],
    ['cot(f - f)', 'Float64', [Infinity, Infinity, NaN, null]],
  ])('%s is %s', (text, type, values) => {
    expect(typeOf(text, batch)).toBe(type);
    expect(ask(text, batch)).toEqual(values);
  });
});

describe('date functions', () => {
  it.each([
    ["date_part('year', d)", [2024, 1969, 2021, null]],
    ['extract(quarter from d)', [1, 4, 1, null]],
    ['extract(month from ts)', [2, 12, 1, null]],
    ["date_part('week', d)", [9, 1, 53, null]],
    ["date_part('isoyear', d)", [2024, 1970, 2020, null]],
    ["date_part('day', ts)", [29, 31, 3, null]],
    ["date_part('dow', d)", [4, 3, 0, null]],
    ["date_part('isodow', d)", [4, 3, 7, null]],
    ["date_part('doy', d)", [60, 365, 3, null]],
    ["date_part('hours', ts)", [13, 23, 12, null]],
    ["date_part('minute', ts)", [1, 59, 0, null]],
    ["date_part('second', ts)", [1, 59, 0, null]],
    ["date_part('millisecond', ts)", [1250, 59_999, 0, null]],
    ["date_part('epoch', ts)", [1_709_211_661.25, -0.001, 1_609_675_200, null]],
    [
      "date_trunc('month', ts)",
      [1_706_745_600_000_000n, -2_678_400_000_000n, 1_609_459_200_000_000n, null],
    ],
    [
      "date_trunc('week', ts)",
      [1_708_905_600_000_000n, -259_200_000_000n, 1_609_113_600_000_000n, null],
    ],
    [
      "date_trunc('hour', ts)",
      [1_709_211_600_000_000n, -3_600_000_000n, 1_609_675_200_000_000n, null],
    ],
    [
      "date_trunc('year', d)",
      [1_704_067_200_000_000_000n, -31_536_000_000_000_000n, 1_609_459_200_000_000_000n, null],
    ],
    ['to_date(ts)', [19_782, -1, 18_630, null]],
    [
      "to_timestamp('2024-01-01')",
      [
        1_704_067_200_000_000_000n,
        1_704_067_200_000_000_000n,
        1_704_067_200_000_000_000n,
        1_704_067_200_000_000_000n,
      ],
    ],
    ['to_timestamp(n)', [1_000_000_000n, -2_000_000_000n, 3_000_000_000n, null]],
    ['to_timestamp_millis(n)', [1n, -2n, 3n, null]],
  ])('%s', (text, values) => {
    expect(ask(text, batch)).toEqual(values);
  });

  it('knows the parts of a time and keeps the zone', () => {
    expect(constant("date_part('second', time '01:02:03.5')")).toBe(3);
    const zoned = batchOf({ ts: column(new TimestampNanosecond('UTC'), [0]) });
    expect(typeOf("date_trunc('day', ts)", zoned)).toBe('Timestamp<NANOSECOND, UTC>');
  });
});

describe('date_part of a timestamp with a zone', () => {
  const moments = [1_710_053_999, 1_710_054_000, -500_000_000, 0, null];
  const zoned = batchOf({
    ts: column(
      new TimestampMillisecond('America/New_York'),
      moments.map((second) => (second === null ? null : second * 1000)),
    ),
    fixed: column(new TimestampMillisecond('+05:30'), [0, 1, 1, 1, null]),
  });

  it.each([
    ["date_part('hour', ts)", [1, 3, 18, 19, null]],
    ["date_part('day', ts)", [10, 10, 26, 31, null]],
    ["date_part('dow', ts)", [0, 0, 5, 3, null]],
    ["date_part('year', ts)", [2024, 2024, 1954, 1969, null]],
    ["date_part('epoch', ts)", moments],
    ["date_part('hour', fixed)", [5, 5, 5, 5, null]],
    ["date_part('minute', fixed)", [30, 30, 30, 30, null]],
  ])('counts by the clocks of the zone: %s', (text, values) => {
    expect(ask(text, zoned)).toEqual(values);
  });
});

describe('list functions', () => {
  it.each([
    ['array_length(l)', [2n, 0n, 2n, null]],
    ['array_length(v, 1)', [2n, 2n, 2n, null]],
    ['array_has(l, 2)', [true, false, false, null]],
    ['array_has(l, n)', [true, false, false, null]],
    ['array_has(l, 1.5)', [false, false, false, null]],
    ['array_has(l, null)', [null, null, null, null]],
    ["array_contains(tags, 'b')", [true, true, false, null]],
    ["array_has(['x', 'Ab c'], s)", [true, false, false, null]],
    ["array_has_any(tags, ['b', 'z'])", [true, true, false, null]],
    ['array_has_any(tags, [null])', [false, true, false, null]],
    ["array_has_all(tags, ['b'])", [true, true, false, null]],
    ["array_has_all(tags, make_array('a', 'b'))", [true, false, false, null]],
    ['array_has_all(l, [])', [true, true, true, null]],
    ['array_has_any(l, v)', [true, false, true, null]],
    ['array_has_any(l, l)', [true, false, true, null]],
    ['l[1]', [1n, null, null, null]],
    ['l[-1]', [2n, null, 5n, null]],
    ['l[0]', [null, null, null, null]],
    ['v[n]', [1, 3, null, null]],
    ['v[3]', [null, null, null, null]],
    ['array_element(l, 2)', [2n, null, 5n, null]],
    [
      '[n, 7]',
      [
        [1, 7],
        [-2, 7],
        [3, 7],
        [null, 7],
      ],
    ],
    ["[s, 'x'][1]", ['Ab c', 'é😀x', '', null]],
    [
      '[n, 1.5]',
      [
        [1, 1.5],
        [-2, 1.5],
        [3, 1.5],
        [null, 1.5],
      ],
    ],
    ['[]', [[], [], [], []]],
    ['coalesce(l, [7])', [[1n, 2n], [], [null, 5n], [7n]]],
    ['case when n = 1 then tags else [s] end', [['a', 'b'], ['é😀x'], [''], [null]]],
  ])('%s', (text, values) => {
    expect(ask(text, batch)).toEqual(values);
  });
});

describe('functions that choose', () => {
  it.each([
    ['coalesce(n, 0)', 'Int32', [1, -2, 3, 0]],
    ['coalesce(n, k)', 'Int64', [1n, -2n, 3n, null]],
    ['coalesce(n, 1.5)', 'Float64', [1, -2, 3, 1.5]],
    ["coalesce(s, 'none')", 'Utf8', ['Ab c', 'é😀x', '', 'none']],
    ['coalesce(null, n = 1, true)', 'Bool', [true, false, false, true]],
    ['nvl(f, n)', 'Float64', [1.5, -2.5, NaN, null]],
    ['nullif(n, 3)', 'Int32', [1, -2, null, null]],
    ['nvl2(n, k, 0)', 'Int64', [9_007_199_254_740_993n, -2n, 3n, 0n]],
    ["nvl2(s, 'yes', 'no')", 'Utf8', ['yes', 'yes', 'yes', 'no']],
    ['nvl2(l, n, f)', 'Float64', [1, -2, 3, null]],
    ['nullif(l, [null, 5])', 'List<Int64>', [[1n, 2n], [], null, null]],
    ["nullif(s, '')", 'Utf8', ['Ab c', 'é😀x', null, null]],
    ['greatest(n, 2)', 'Int32', [2, 2, 3, 2]],
    ['greatest(f, n)', 'Float64', [1.5, -2, NaN, null]],
    ['least(f, n, 0)', 'Float64', [0, -2.5, 0, 0]],
    ["greatest(s, 'B', null)", 'Utf8', ['B', 'é😀x', 'B', 'B']],
    ["least(d, '2021-01-03')", 'Date32<DAY>', [18_630, -1, 18_630, 18_630]],
    ['case when n > 0 then s end', 'Utf8', ['Ab c', null, '', null]],
    [
      "case n when 1 then 'one' when -2 then s else 'many' end",
      'Utf8',
      ['one', 'é😀x', 'many', 'many'],
    ],
    ['case when n > 0 then n when n < 0 then k end', 'Int64', [1n, -2n, 3n, null]],
    [
      'case when n = 1 then price when n = 3 then 7 end',
      'Decimal[10e+2]',
      ['155', null, '700', null],
    ],
    ['case n when null then 1 else 2 end', 'Int64', [2n, 2n, 2n, 2n]],
  ])('%s is %s', (text, type, values) => {
    expect(typeOf(text, batch)).toBe(type);
    expect(ask(text, batch)).toEqual(values);
  });
});

describe('refusals', () => {
  it.each([
    [
      'foo(1)',
      'unknown-function: expected the name of a function, found foo; the nearest are floor, log, cos, at position 1',
    ],
    [
      'lenght(s)',
      'unknown-function: expected the name of a function, found lenght; the nearest are length, left, right, at position 1',
    ],
    [
      'regexp_swap(s, s, s)',
      'unknown-function: expected the name of a function, found regexp_swap; the nearest are regexp_like, regexp_match, regexp_count, at position 1',
    ],
    [
      'count(n) > 1',
      'unknown-function: expected a function of one row, found the aggregate count, at position 1',
    ],
    ['now(1)', 'type: expected now(), found 1 argument, at position 1'],
    [
      'lower(n)',
      'type: expected a string as argument 1 of lower(text), found int32, at position 7',
    ],
    ['lower()', 'type: expected lower(text), found 0 arguments, at position 1'],
    ['substr(s)', 'type: expected substr(text, start[, length]), found 1 argument, at position 1'],
    [
      "substr(s, '1')",
      'type: expected an integer as argument 2 of substr(text, start[, length]), found string, at position 11',
    ],
    ['substr(s, 1, n)', 'value: expected a length of 0 or more in substr, found -2, at position 1'],
    [
      "split_part(s, ' ', n - n)",
      'value: expected a part other than 0 in split_part, found 0, at position 1',
    ],
    [
      'sqrt(s)',
      'type: expected a number as argument 1 of sqrt(number), found string, at position 6',
    ],
    [
      'abs(-9223372036854775808)',
      'overflow: expected a result within int64, found abs(-9223372036854775808), at position 1',
    ],
    [
      "date_part('eon', d)",
      "value: expected one of year, isoyear, quarter, month, week, day, dow, isodow, doy, hour, minute, second, millisecond, microsecond, epoch as the part of a date, found 'eon', at position 11",
    ],
    [
      'date_part(s, d)',
      'value: expected one of year, isoyear, quarter, month, week, day, dow, isodow, doy, hour, minute, second, millisecond, microsecond, epoch as the part of a date, found no literal, at position 11',
    ],
    [
      "date_part('year', s)",
      "type: expected a date or timestamp that has the part year as argument 2 of date_part('part', value), found string, at position 19",
    ],
    [
      "date_trunc('eon', d)",
      "value: expected one of year, quarter, month, week, day, hour, minute, second, millisecond, microsecond as the unit of date_trunc, found 'eon', at position 12",
    ],
    [
      "date_trunc('year', n)",
      "type: expected a date or timestamp as argument 2 of date_trunc('unit', value), found int32, at position 20",
    ],
    [
      'to_timestamp(n > 1)',
      "type: expected a string, a number, a date or a timestamp as argument 1 of to_timestamp(value[, 'format', ...]), found bool, at position 16",
    ],
    [
      'array_length(n)',
      'type: expected a list of values as argument 1 of array_length(list[, dimension]), found int32, at position 14',
    ],
    [
      "array_length(l, 'a')",
      'type: expected an integer as argument 2 of array_length(list[, dimension]), found string, at position 17',
    ],
    [
      "array_has(l, 'a')",
      "type: expected a value of the list's type as argument 2 of array_has(list, value), found string, at position 14",
    ],
    [
      'array_has_any(l, tags)',
      "type: expected a list of the other list's type as argument 2 of array_has_any(list, list), found list<string>, at position 18",
    ],
    ["l['a']", 'type: expected a whole number as the place in a list, found string, at position 3'],
    ['n[1]', 'type: expected a list, a struct or a map before [, found int32, at position 2'],
    [
      "coalesce(n, 'a')",
      'type: expected results of one type, found int32 and string, at position 1',
    ],
    [
      'case when n then 1 end',
      'type: expected a predicate after WHEN, found int32, at position 11',
    ],
    [
      "case n when 'a' then 1 end",
      'type: expected two values that compare with each other, found int32 and string, at position 13',
    ],
    [
      'case when true then n else s end',
      'type: expected results of one type, found int32 and string, at position 1',
    ],
    [
      "nvl2(n, 1, 'a')",
      'type: expected results of one type, found int64 and string, at position 1',
    ],
    [
      'nanvl(s, 1)',
      'type: expected a number as argument 1 of nanvl(number, other), found string, at position 7',
    ],
    ['pi(1)', 'type: expected pi(), found 1 argument, at position 1'],
    ['coalesce()', 'type: expected coalesce(value, ...), found 0 arguments, at position 1'],
    [
      "repeat('a', 300000000)",
      'limit: expected at most 67108864 characters from repeat, found 300000000, at position 1',
    ],
  ])('%s', (text, message) => {
    expect(refusal(text, batch)).toBe(message);
  });

  it('every function says what it takes', () => {
    for (const [name, { usage }] of functions) {
      expect(usage, name).toMatch(/^[a-z_0-9]+\(.*\)$/);
    }
  });
});
