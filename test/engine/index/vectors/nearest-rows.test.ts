import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  NearestRows,
  type DistanceBounds,
} from '../../../../src/engine/index/vectors/nearest-rows.ts';

const none: DistanceBounds = { lower: null, upper: null };

function kept(distances: readonly number[], capacity: number, bounds: DistanceBounds = none) {
  const rows = new NearestRows(capacity, bounds);
  rows.offer(Float32Array.from(distances), null, 0);
  const { positions, distances: found } = rows.found();
  return [...positions].map((position, at) => [position, found[at]]);
}

describe('the nearest rows', () => {
  it('are the first of a sort by distance and position', () => {
    const distance = fc.oneof(
      fc.integer({ min: -4, max: 4 }),
      fc.constantFrom(NaN, Infinity, -Infinity),
    );
    fc.assert(
      fc.property(
        fc.array(distance, { maxLength: 300 }),
        fc.integer({ min: 1, max: 70 }),
        (all, capacity) => {
          const expected = all
            .map((distance, position) => [position, distance] as const)
            .filter(([, distance]) => !Number.isNaN(distance))
            .sort(([, left], [, right]) => (left === right ? 0 : left - right))
            .slice(0, capacity);
          expect(kept(all, capacity)).toEqual(expected);
        },
      ),
    );
  });

  it('are the first of those equally far, in whatever order they are offered', () => {
    const rows = new NearestRows(3, none);
    rows.offer(Float32Array.of(2, 2, 2), null, 200);
    rows.offer(Float32Array.of(2, 1, 2), null, 100);
    rows.offer(Float32Array.of(3, 2), null, 0);
    expect([...rows.found().positions]).toEqual([101, 1, 100]);
  });

  it('are all of them when there is no limit', () => {
    const all = Array.from({ length: 5000 }, (_, at) => 5000 - at);
    expect(kept(all, Infinity).map(([position]) => position)).toEqual(all.map((one) => one - 1));
  });

  it('lie from the lower bound on, below the upper', () => {
    expect(kept([3, 1, 2, 0], 10, { lower: 1, upper: 3 })).toEqual([
      [1, 1],
      [2, 2],
    ]);
    expect(kept([0, 1], 10, { lower: 1, upper: 1 })).toEqual([]);
  });

  it('compare with bounds as 32-bit floats', () => {
    expect(kept([0.1], 10, { lower: 0.1, upper: null })).toHaveLength(1);
    expect(kept([0.1], 10, { lower: null, upper: 0.1 })).toHaveLength(0);
  });

  it('may be offered as a list of rows', () => {
    const rows = new NearestRows(2, none);
    rows.offer(Float32Array.of(5, 1), Uint32Array.of(3, 9), 100);
    rows.offer(Float32Array.of(1), Uint32Array.of(0), 200);
    expect([...rows.found().positions]).toEqual([109, 200]);
  });
});
