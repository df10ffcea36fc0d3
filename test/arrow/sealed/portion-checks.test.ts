import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { PortionChecks, PortionSums } from '../../../src/arrow/sealed/portion-checks.ts';

const PORTION = 64;

/** Some bytes as pieces of other lengths, and their checks. */
function checked(content: Uint8Array, lengths: readonly number[], portionBytes = PORTION) {
  const sums = new PortionSums(portionBytes);
  sums.add(content);
  const block = { contentBytes: content.length, sums: sums.finish() };
  const checks = new PortionChecks('a.arrow', block, portionBytes);
  const pieces: Uint8Array[] = [];
  for (let at = 0, next = 0; at < content.length; next++) {
    const length = lengths[next % lengths.length]!;
    pieces.push(content.subarray(at, at + length));
    at += length;
  }
  return { checks, compare: () => checks.compare(0, pieces) };
}

const cuts: readonly (readonly number[])[] = [
  [Infinity],
  [PORTION],
  [3 * PORTION, 1],
  [1, 5 * PORTION - 1],
  [PORTION - 1, 4 * PORTION, 7],
];

describe('portions that are compared together', () => {
  it.each(cuts)('match as they were written, in pieces of %s bytes', (...lengths) => {
    for (const bytes of [1, PORTION - 1, PORTION, 2 * PORTION, 9 * PORTION, 9 * PORTION + 5]) {
      const { checks, compare } = checked(Uint8Array.from(randomBytes(bytes)), lengths);
      compare();
      expect(checks.due(0, bytes)).toBeUndefined();
    }
  });

  it.each(cuts)(
    'name the damaged one after any flipped bit, in pieces of %s bytes',
    (...lengths) => {
      const content = Uint8Array.from(randomBytes(9 * PORTION + 5));
      const { compare } = checked(content, lengths);
      for (let bit = 0; bit < 8 * content.length; bit += 5) {
        content[bit >> 3]! ^= 1 << (bit & 7);
        expect(compare).toThrow(`portion ${Math.floor((bit >> 3) / PORTION)} (`);
        content[bit >> 3]! ^= 1 << (bit & 7);
      }
      compare();
    },
  );

  it('are not taken for others that changed places', () => {
    const content = Uint8Array.from(randomBytes(8 * PORTION));
    const { compare } = checked(content, [Infinity]);
    const third = content.slice(2 * PORTION, 3 * PORTION);
    content.copyWithin(2 * PORTION, 5 * PORTION, 6 * PORTION);
    content.set(third, 5 * PORTION);
    expect(compare).toThrow('portion 2 (');
  });

  it('of two lengths are compared in turn', () => {
    const content = Uint8Array.from(randomBytes(40 * PORTION));
    const [small, large] = [
      checked(content, [Infinity]),
      checked(content, [Infinity], 4 * PORTION),
    ];
    for (let times = 0; times < 3; times++) for (const { compare } of [small, large]) compare();
    content[700]! ^= 1;
    for (const { compare } of [small, large]) expect(compare).toThrow('portion');
  });
});
