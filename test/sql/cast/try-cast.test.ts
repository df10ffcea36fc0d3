import { Binary, Float64, Int64, Utf8 } from 'apache-arrow';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ask, batchOf, column, constant, refusal, typeOf } from '../support.ts';

const batch = batchOf({
  s: column(new Utf8(), ['12', 'x', '2024-02-29', null]),
  n: column(new Int64(), [1n, 300n, -1n, null]),
  f: column(new Float64(), [1.9, NaN, 1e300, null]),
  x: column(new Binary(), [Uint8Array.of(97), Uint8Array.of(0xff), Uint8Array.of(), null]),
});

describe('TRY_CAST', () => {
  it.each([
    ['try_cast(s as int)', 'Int32', [12, null, null, null]],
    ['try_cast(s as double)', 'Float64', [12, null, null, null]],
    ['try_cast(s as decimal(3, 1))', 'Decimal[3e+1]', ['120', null, null, null]],
    ['try_cast(s as date)', 'Date32<DAY>', [null, null, 19_782, null]],
    ['try_cast(s as boolean)', 'Bool', [null, null, null, null]],
    ['try_cast(n as boolean)', 'Bool', [true, true, true, null]],
    ['try_cast(n as tinyint)', 'Int8', [1, null, -1, null]],
    ['TRY_CAST(n as tinyint unsigned)', 'Uint8', [1, null, null, null]],
    ['try_cast(n as decimal(3, 1))', 'Decimal[3e+1]', ['10', null, '-10', null]],
    ['try_cast(n as string)', 'Utf8', ['1', '300', '-1', null]],
    ['try_cast(f as bigint)', 'Int64', [1n, null, null, null]],
    ['try_cast(f as float)', 'Float32', [Math.fround(1.9), NaN, null, null]],
    ['try_cast(x as string)', 'Utf8', ['a', null, '', null]],
    [
      'try_cast(x as binary)',
      'Binary',
      [Uint8Array.of(97), Uint8Array.of(0xff), Uint8Array.of(), null],
    ],
    ['try_cast(null as int)', 'Int32', [null, null, null, null]],
    ["try_cast('x' as int) is null", 'Bool', [true, true, true, true]],
    ["try_cast('2024-13-01' as timestamp)", 'Timestamp<MICROSECOND>', [null, null, null, null]],
  ])('%s', (text, type, values) => {
    expect(typeOf(text, batch)).toBe(type);
    expect(ask(text, batch)).toEqual(values);
  });

  it.each([
    [
      'try_cast(n as binary)',
      'type: expected a value that casts to binary, found int64, at position 1',
    ],
    [
      'try_cast(n as thing)',
      'type: expected the name of a type such as bigint, double or string, found thing, at position 15',
    ],
    ['try_cast(n, int)', 'syntax: expected AS, found ",", at position 11'],
  ])('%s is refused', (text, message) => {
    expect(refusal(text, batch)).toBe(message);
  });

  it('is CAST wherever that gives a value, and null wherever it is refused', () => {
    const texts = fc.oneof(
      fc.constantFrom('1', '-129', '1e3', 'true', 'nan', '12:00', '2024-02-29', '2024-02-29 10:00'),
      fc.string(),
    );
    const types = fc.constantFrom(
      'tinyint',
      'float',
      'decimal(4, 1)',
      'boolean',
      'date',
      'time',
      'timestamp',
    );
    fc.assert(
      fc.property(texts, types, (text, type) => {
        const quoted = `'${text.replaceAll("'", "''")}'`;
        const refused = refusal(`cast(${quoted} as ${type})`) !== 'accepted';
        const expected = refused ? null : constant(`cast(${quoted} as ${type})`);
        expect(constant(`try_cast(${quoted} as ${type})`)).toEqual(expected);
      }),
      { numRuns: 500 },
    );
  });
});
