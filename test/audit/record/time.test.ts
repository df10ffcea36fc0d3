import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { microsOf, timeOf } from '../../../src/audit/record/time.ts';

/** Microseconds of times with a year of four digits; some lie in one second. */
const micros = fc.oneof(
  fc.bigInt({ min: -62_135_596_800_000_000n, max: 253_402_300_799_999_999n }),
  fc.bigInt({ min: 1_700_000_000_000_000n, max: 1_700_000_001_999_999n }),
);

it('is read as it was written, whatever was read before', () => {
  fc.assert(
    fc.property(fc.array(micros), (all) => {
      expect(all.map((each) => microsOf(timeOf(each)))).toEqual(all);
    }),
  );
});

it.each([
  ['without microseconds', '2026-11-29T10:00:00Z'],
  ['with milliseconds', '2026-11-29T10:00:00.123Z'],
  ['with nanoseconds', '2026-11-29T10:00:00.123456789Z'],
  ['with other digits', '2026-11-29T10:00:00.12345٦Z'],
  ['with a sign', '2026-11-29T10:00:00.-23456Z'],
  ['in another zone', '2026-11-29T10:00:00.123456+01:00'],
  ['with a lower-case zone', '2026-11-29T10:00:00.123456z'],
  ['with a comma', '2026-11-29T10:00:00,123456Z'],
  ['with something after it', '2026-11-29T10:00:00.123456ZZ'],
  ['with something before it', ' 2026-11-29T10:00:00.123456Z'],
  ['on no day', '2026-13-29T10:00:00.123456Z'],
  ['that is empty', ''],
])('is refused %s, also in the second of the time before', (_, text) => {
  const refusal = `${JSON.stringify(text)} is no time with microseconds in UTC`;
  expect(() => microsOf(text)).toThrow(refusal);
  expect(microsOf('2026-11-29T10:00:00.000001Z')).toBe(1_795_946_400_000_001n);
  expect(() => microsOf(text)).toThrow(refusal);
});
