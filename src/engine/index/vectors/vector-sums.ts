import type { SearchMetric } from '../../request/search-metric.ts';
import type { VectorValues } from './vector-values.ts';

/** Greatest length whose square a 32-bit float holds. */
export const LONGEST = 1e30;
export const SHORTEST = 1e-30;

/**
 * Whether a vector can be encoded: `none` for one without distances, which no search finds, `odd`
 * for one whose distances are not finite.
 */
type Fitness = 'fit' | 'none' | 'odd';

export function fitnessOf(squares: number, distance: SearchMetric): Fitness {
  if (Number.isNaN(squares)) return 'none';
  if (squares > LONGEST) return 'odd';
  if (distance !== 'cosine' || squares >= SHORTEST) return 'fit';
  return squares === 0 ? 'none' : 'odd';
}

/** Sum of a vector's squares; NaN if a value is NaN. */
export function squaresOf(values: ArrayLike<number>, start: number, size: number): number {
  let sum = 0;
  let probe = 0;
  for (let at = start; at < start + size; at++) {
    sum += values[at]! * values[at]!;
    probe += values[at]! * 0;
  }
  // Infinity times zero is NaN, although an infinite sum of squares is valid.
  return Number.isNaN(probe) && !hasNaN(values, start, size) ? Infinity : sum;
}

function hasNaN(values: ArrayLike<number>, start: number, size: number): boolean {
  for (let at = start; at < start + size; at++) if (Number.isNaN(values[at])) return true;
  return false;
}

/** Computes the mean of vectors and counts those that cannot be encoded. */
export class VectorSums {
  readonly #distance: SearchMetric;
  readonly #sums: Float64Array;
  #fit = 0;
  #odd = 0;

  constructor(size: number, distance: SearchMetric) {
    this.#sums = new Float64Array(size);
    this.#distance = distance;
  }

  /** Number of vectors whose distances are not finite. */
  get odd(): number {
    return this.#odd;
  }

  get middle(): Float64Array {
    return this.#sums.map((sum) => sum / Math.max(1, this.#fit));
  }

  add({ values, has }: VectorValues, row: number): void {
    if (!has(row)) return;
    const { length: size } = this.#sums;
    const start = row * size;
    const squares = squaresOf(values, start, size);
    const fitness = fitnessOf(squares, this.#distance);
    if (fitness === 'odd') this.#odd += 1;
    if (fitness !== 'fit') return;
    this.#fit += 1;
    const scale = this.#distance === 'cosine' ? 1 / Math.sqrt(squares) : 1;
    for (let at = 0; at < size; at++) this.#sums[at]! += values[start + at]! * scale;
  }
}
