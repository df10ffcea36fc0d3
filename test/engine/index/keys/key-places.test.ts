import { Float64, Int64, Utf8, vectorFromArray, type Data } from 'apache-arrow';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  placesOf,
  stretchesWith,
  shortEnds,
} from '../../../../src/engine/index/keys/key-places.ts';

const dataOf = (values: readonly bigint[]): Data => vectorFromArray(values, new Int64()).data[0]!;

const number = fc.bigInt({ min: 0n, max: 12n });
const keys = fc.array(number, { minLength: 1, maxLength: 40 });

describe('stretches of ordered keys', () => {
  it('are those that have one of the values, and those that may', () => {
    fc.assert(
      fc.property(keys, fc.integer({ min: 1, max: 7 }), fc.array(number), (some, size, values) => {
        const all = some.toSorted((one, other) => Number(one - other));
        const pages: bigint[][] = [];
        for (let at = 0; at < all.length; at += size) pages.push(all.slice(at, at + size));
        const ends = dataOf(pages.flatMap((page) => [page[0]!, page.at(-1)!]));
        const expected = pages.flatMap((page, at) =>
          values.some((value) => page[0]! <= value && value <= page.at(-1)!) ? [at] : [],
        );
        expect(stretchesWith(ends, values)).toEqual(expected);
        for (const [at, page] of pages.entries()) {
          const places = page.flatMap((key, place) => (values.includes(key) ? [place] : []));
          expect([...placesOf(dataOf(page), values)!]).toEqual(places);
          if (places.length > 0) expect(expected).toContain(at);
        }
      }),
    );
  });

  it('are found by texts', () => {
    const ends = vectorFromArray(['a', 'bb', 'bb', 'd', 'é', 'é'], new Utf8()).data[0]!;
    const having = (...texts: readonly string[]) =>
      stretchesWith(
        ends,
        texts.map((text) => Buffer.from(text)),
      );
    expect(having('bb')).toEqual([0, 1]);
    expect(having('é', 'b', '')).toEqual([0, 2]);
    expect(having('e')).toEqual([]);
  });

  it('are found by the beginnings of long texts, whether or not their ends were cut', () => {
    const long = (end: string) => 'ä'.repeat(16) + end;
    const ends = vectorFromArray(
      ['a', long('b'), long('c'), long('e'), long('ff'), 'ü'],
      new Utf8(),
    );
    for (const kept of [ends.data[0]!, shortEnds(ends.data[0]!)]) {
      const having = (text: string) => stretchesWith(kept, [Buffer.from(text)]);
      expect(having(long('b'))).toEqual([0]);
      expect(having(long('d'))).toEqual([1]);
      expect(having(long('fa'))).toEqual([2]);
      expect(having(long('fz'))).toEqual([2]);
      expect(having(long('eee'))).toEqual([1]);
      expect(having(long(''))).toEqual([0]);
    }
  });

  it('are not told of values without an order, and of ends that are none', () => {
    const ends = vectorFromArray([1, 2], new Float64()).data[0]!;
    expect(stretchesWith(ends, [1.5])).toEqual([0]);
    expect(stretchesWith(ends, [NaN])).toBeUndefined();
    expect(stretchesWith(vectorFromArray([], new Int64()).data[0]!, [1n])).toBeUndefined();
  });
});
