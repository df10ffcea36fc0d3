import { assert, array, double, integer, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NearestRows } from '../../../src/engine/index/vectors/nearest-rows.ts';
import type { CodeDirectory } from '../../../src/engine/index/vectors/code-file.ts';
import { codeMemory } from '../../../src/engine/index/vectors/code-kernels.ts';
import { codeLayout, SCRATCH } from '../../../src/engine/index/vectors/code-layout.ts';
import { searchPartition } from '../../../src/engine/index/vectors/code-search.ts';
import { encodeQuery, placedQuery } from '../../../src/engine/index/vectors/encoded-query.ts';
import { rotationOf } from '../../../src/engine/index/vectors/rotation.ts';
import { takeCodes } from '../../../src/engine/index/vectors/take-codes.ts';
import { VectorEncoder } from '../../../src/engine/index/vectors/vector-encoder.ts';
import { VectorSums } from '../../../src/engine/index/vectors/vector-sums.ts';

const sizes = integer({ min: 1, max: 300 });

describe('a rotation', () => {
  it('keeps lengths and products, of vectors of any length', () => {
    assert(
      property(
        sizes,
        array(double({ min: -5, max: 5, noNaN: true }), { minLength: 600, maxLength: 600 }),
        (size, values) => {
          const [one, other] = [values.slice(0, size), values.slice(300, 300 + size)];
          const turned = [one, other].map((vector) => {
            const copy = Float64Array.from(vector);
            rotationOf(size).turn(copy);
            return copy;
          });
          const product = (left: ArrayLike<number>, right: ArrayLike<number>) =>
            Array.from(left).reduce((sum, value, at) => sum + value * right[at]!, 0);
          expect(product(turned[0]!, turned[1]!)).toBeCloseTo(product(one, other), 6);
          expect(product(turned[0]!, turned[0]!)).toBeCloseTo(product(one, one), 6);
        },
      ),
      { numRuns: 50 },
    );
  });

  it('is the same in every process', () => {
    const vector = Float64Array.from({ length: 12 }, (_, at) => at);
    rotationOf(12).turn(vector);
    expect([...vector].map((value) => Number(value.toFixed(3)))).toMatchInlineSnapshot(`
      [
        0.732,
        11.475,
        -9.975,
        -8.061,
        -5.811,
        -8.725,
        6.75,
        1.922,
        -3.589,
        2.982,
        -1.957,
        -4.957,
      ]
    `);
  });
});

/** Far from the mean, so that terms cancel out that only partitions have. */
function centreOf(size: number): Float32Array {
  return Float32Array.from({ length: size }, (_, at) => 0.7 * Math.cos(3 * at));
}

describe.each([
  ['relative to the mean', false],
  ['relative to a centre, in an order of their own', true],
])('codes of eight bits, %s', (_, parted) => {
  it.each(['l2', 'cosine', 'dot'] as const)(
    'tell distances by %s, of vectors of any length',
    (distance) => {
      for (const size of [1, 3, 16, 17, 64, 100, 257]) {
        const rows = 40;
        const values = Float32Array.from(
          { length: rows * size },
          (__, at) => Math.sin(at * at) + 0.3,
        );
        const vectors = { rows, values, has: (row: number) => row !== 5 };
        const sums = new VectorSums(size, distance);
        for (let row = 0; row < rows; row++) sums.add(vectors, row);
        const shape = { size, whole: false };
        const encoder = new VectorEncoder(shape, distance, sums.middle, parted);
        encoder.begin(rows);
        const centre = parted ? centreOf(size) : null;
        let radius = 0;
        for (let row = 0; row < rows; row++) {
          if (encoder.rotate(vectors, row) === null) continue;
          radius = Math.max(radius, encoder.write(row, centre));
        }
        const { error, step } = encoder;
        const middle = [...sums.middle];
        const directory: CodeDirectory = {
          shape,
          distance,
          portions: [],
          middle,
          error,
          step,
          odd: 0,
          ...(parted && { partitions: { count: 1, checksum: 0, spreads: [1, 1] } }),
        };
        const order = Uint32Array.from({ length: rows }, (__, at) => at).filter((at) => at !== 5);
        const bytes = parted ? takeCodes(shape, encoder.end(), order, 0).bytes : encoder.end();
        const layout = codeLayout(shape, parted ? order.length : rows, parted);
        const memory = codeMemory(SCRATCH.bytes + layout.bytes);
        new Uint8Array(memory.buffer).set(bytes, SCRATCH.bytes);
        const query = Float32Array.from({ length: size }, (__, at) => Math.cos(at));
        const nearest = new NearestRows(rows, { lower: null, upper: null });
        const encoded = encodeQuery(query, directory);
        const portions = [{ number: 0, place: SCRATCH.bytes, first: 0, layout }];
        const own = { centre, squared: 0, inner: 0, radius, step, portions };
        const codes = { directory, memory, centres: null, loaded: Uint8Array.of(1) };
        const deviation = searchPartition({ ...codes, partitions: [own] }, own, {
          query: encoded,
          errors: 5,
          may: (row) => row !== 7,
          nearest,
          first: 100,
        });
        expect(deviation).toBe(placedQuery(encoded, own).error);
        const { positions, distances } = nearest.found();
        expect(positions.length).toBe(rows - 2);
        for (const [at, position] of positions.entries()) {
          const row = position - 100;
          const vector = values.subarray(row * size, (row + 1) * size);
          expect(Math.abs(distances[at]! - distanceOf(distance, query, vector))).toBeLessThan(
            deviation * 2 + 1e-4,
          );
        }
      }
    },
  );
});

function distanceOf(distance: string, one: Float32Array, other: Float32Array): number {
  const product = (left: Float32Array, right: Float32Array) =>
    left.reduce((sum, value, at) => sum + value * right[at]!, 0);
  if (distance === 'dot') return 1 - product(one, other);
  if (distance === 'cosine') {
    return 1 - product(one, other) / Math.sqrt(product(one, one) * product(other, other));
  }
  return one.reduce((sum, value, at) => sum + (value - other[at]!) ** 2, 0);
}
