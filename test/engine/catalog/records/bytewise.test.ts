import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareBytewise, cutBytes } from '../../../../src/engine/catalog/records/bytewise.ts';

/** Texts with many characters around the place where UTF-16 and UTF-8 order differently. */
const text = fc.string({
  unit: fc.constantFrom('a', 'b', '$', 'é', '\ud7ff', '\ue000', '\uffff', '😀', '𐀀'),
});

describe('the order of names', () => {
  it('is the order of their UTF-8 bytes', () => {
    fc.assert(
      fc.property(text, text, (left, right) => {
        const expected = Buffer.compare(Buffer.from(left), Buffer.from(right));
        expect(Math.sign(compareBytewise(left, right))).toBe(expected);
      }),
    );
  });
});

describe('cutting a text to bytes', () => {
  it('keeps the longest beginning of whole characters that fits', () => {
    fc.assert(
      fc.property(text, fc.nat(20), (whole, bytes) => {
        const cut = cutBytes(whole, bytes);
        expect(whole.startsWith(cut)).toBe(true);
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(bytes);
        const [next] = whole.slice(cut.length);
        if (next !== undefined) expect(Buffer.byteLength(cut + next)).toBeGreaterThan(bytes);
        expect(cut).not.toMatch(/\p{Surrogate}/u);
      }),
    );
  });

  it.each([
    ['abc', 0, ''],
    ['abc', 2, 'ab'],
    ['aé', 2, 'a'],
    ['a😀b', 4, 'a'],
    ['a😀b', 5, 'a😀'],
    ['abc', 9, 'abc'],
  ])('cuts %s to %i bytes as %s', (whole, bytes, expected) => {
    expect(cutBytes(whole, bytes)).toBe(expected);
  });
});
