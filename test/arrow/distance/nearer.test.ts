import {
  FixedSizeList,
  Field,
  Float32,
  Float64,
  makeData,
  makeVector,
  type Vector,
} from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { DistanceKernels } from '../../../src/arrow/distance/distance-kernels.ts';
import { distances, type Metric } from '../../../src/arrow/distance/distance.ts';
import { offerNearer } from '../../../src/arrow/distance/nearer.ts';
import { randomOf } from '../../service/random.ts';
import { triesAll } from '../../support/cases.ts';

const ROWS = 6000;
/** Lengths of vectors: with and without whole blocks of a kernel, and rests behind them. */
const sizes = triesAll ? [1, 3, 16, 37, 128] : [1, 16, 37];
const metrics: readonly Metric[] = ['l2', 'cosine', 'dot'];

type Random = () => number;

/** Numbers from 0 to 1, the same for each seed. */
function numbersFrom(seed: number): Random {
  const next = randomOf(seed);
  return () => next(2 ** 32) / 2 ** 32;
}

/** Numbers of one kind, by a source of numbers from 0 to 1. */
const kinds: Readonly<Record<string, (random: Random) => number>> = {
  'of both signs': (random) => random() * 2 - 1,
  'of many sizes': (random) => (random() - 0.5) * 10 ** Math.floor(random() * 12 - 6),
  'that are whole': (random) => Math.floor(random() * 4),
  'beyond sums of 32 bits': (random) => (random() - 0.5) * 10 ** (random() < 0.5 ? 19 : 38),
  'below sums of 32 bits': (random) => random() * 10 ** -(15 + Math.floor(random() * 10)),
  'that are no numbers at times': (random) => (random() < 0.01 ? Number.NaN : random()),
  'without end at times': (random) => (random() < 0.01 ? Infinity : random()),
};

function column(size: number, number: () => number): Vector {
  const data = Float32Array.from({ length: ROWS * size }, number);
  const child = makeData({ type: new Float32(), data });
  const type = new FixedSizeList(size, new Field('item', new Float32(), true));
  const nullBitmap = new Uint8Array(ROWS / 8).fill(0b1101_1111);
  return makeVector(makeData({ type, length: ROWS, nullCount: ROWS / 8, nullBitmap, child }));
}

/** Keeps the nearest, and takes nothing else into account; equals stay in the order of their rows. */
class Keeper {
  readonly #count: number;
  offered = 0;
  kept: { readonly row: number; readonly distance: number }[] = [];

  constructor(count: number) {
    this.#count = count;
  }

  get limit(): number {
    return this.kept.length < this.#count ? Infinity : (this.kept.at(-1)?.distance ?? Infinity);
  }

  offer(found: Float32Array, rows: Uint32Array | null): void {
    this.offered += found.length;
    const more = Array.from(found, (distance, at) => ({ row: rows?.[at] ?? at, distance }));
    this.kept = [...this.kept, ...more.filter(({ distance }) => !Number.isNaN(distance))]
      .sort((left, right) => left.distance - right.distance || left.row - right.row)
      .slice(0, this.#count);
  }
}

function every(step: number): Uint32Array {
  return Uint32Array.from({ length: Math.floor(ROWS / step) }, (_, at) => at * step);
}

/** Some rows of here and there, in runs of different density. */
function patchy(random: Random): Uint32Array {
  return Uint32Array.from({ length: ROWS }, (_, row) => row).filter(
    (row) => random() < (Math.floor(row / 700) % 2 === 0 ? 0.5 : 0.01),
  );
}

describe('the search for nearer vectors', () => {
  it('has its kernels', () => {
    expect(DistanceKernels.open()).not.toBeNull();
  });

  describe.each(Object.entries(kinds))('among numbers %s', (_, number) => {
    it.each(metrics)('offers by %s what is near, and exactly as far as it is', (metric) => {
      for (const size of sizes) {
        const random = numbersFrom(size);
        const vectors = column(size, () => number(random));
        const query = Float32Array.from({ length: size }, () => number(random));
        for (const rows of [null, every(1), every(9), every(40), patchy(random)]) {
          for (const count of [1, 10, 600]) {
            const [found, expected] = [new Keeper(count), new Keeper(count)];
            offerNearer(metric, query, vectors, rows, found);
            expected.offer(distances(metric, query, vectors, rows), rows);
            expect(found.kept).toEqual(expected.kept);
          }
        }
      }
    });
  });

  it.each(metrics)('passes over what is far by %s', (metric) => {
    const random = numbersFrom(5);
    const vectors = column(64, () => random() * 2 - 1);
    const query = Float32Array.from({ length: 64 }, () => random() * 2 - 1);
    for (const rows of [null, every(3), every(20)]) {
      const keeper = new Keeper(5);
      offerNearer(metric, query, vectors, rows, keeper);
      expect(keeper.offered).toBeLessThan(360);
    }
  });

  it('offers all rows where it has no kernel, and none of none', () => {
    const child = makeData({ type: new Float64(), data: new Float64Array(ROWS) });
    const type = new FixedSizeList(1, new Field('item', new Float64(), true));
    const wide = makeVector(makeData({ type, length: ROWS, nullCount: 0, child }));
    const keeper = new Keeper(3);
    offerNearer('l2', Float32Array.of(1), wide, null, keeper);
    expect(keeper.offered).toBe(ROWS);
    expect(keeper.kept.map(({ row }) => row)).toEqual([0, 1, 2]);
    const nothing = new Keeper(3);
    offerNearer('l2', Float32Array.of(1), wide, new Uint32Array(0), nothing);
    expect(nothing.offered).toBe(0);
  });
});
