import type { SearchMetric } from '../../request/search-metric.ts';
import { BLOCK_ROWS, codeLayout, type CodeLayout, type CodeShape } from './code-file.ts';
import { rotationOf } from './rotation.ts';
import { DataType, Precision, type Data } from 'apache-arrow';
import { concatData } from '../../../arrow/concat.ts';
import { isNull, nullCountOf, childData } from '../../../arrow/data.ts';
import { halfToFloat } from '../../../arrow/half-float.ts';

/** Greatest length whose square a 32-bit float holds. */
export const LONGEST = 1e30;
export const SHORTEST = 1e-30;

/** Greatest absolute 8-bit code. */
const CODE_MOST = 127;

/**
 * Whether a vector can be encoded: `none` for one without distances, which no search finds, `odd`
 * for one whose distances are not finite.
 */
type Fitness = 'fit' | 'none' | 'odd';

function fitnessOf(squares: number, distance: SearchMetric): Fitness {
  if (Number.isNaN(squares)) return 'none';
  if (squares > LONGEST) return 'odd';
  if (distance !== 'cosine' || squares >= SHORTEST) return 'fit';
  return squares === 0 ? 'none' : 'odd';
}

/** Sum of a vector's squares; NaN if a value is NaN. */
function squaresOf(values: ArrayLike<number>, start: number, size: number): number {
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

/** Encodes vectors portion by portion. */
export class VectorEncoder {
  readonly #shape: CodeShape;
  readonly #distance: SearchMetric;
  readonly #middle: Float64Array;
  readonly #rotation: ReturnType<typeof rotationOf>;
  readonly #vector: Float64Array;
  /** Sums of the cosines between vectors and their bits, and of their squares. */
  #cosines = 0;
  #cosineSquares = 0;
  #encoded = 0;
  #step = 0;
  #layout: CodeLayout;
  #bytes = new Uint8Array();
  #codes = new Int8Array();
  #floats = new DataView(new ArrayBuffer(0));

  constructor(shape: CodeShape, distance: SearchMetric, middle: Float64Array) {
    this.#shape = shape;
    this.#distance = distance;
    this.#middle = middle;
    this.#rotation = rotationOf(shape.size);
    this.#vector = new Float64Array(shape.size);
    this.#layout = codeLayout(shape, 0);
  }

  /** A sine between a vector and its bits that few exceed: the error of estimates. */
  get error(): number {
    const mean = this.#cosines / Math.max(1, this.#encoded);
    const variance = this.#cosineSquares / Math.max(1, this.#encoded) - mean * mean;
    const low = Math.max(0, mean - 2 * Math.sqrt(Math.max(0, variance)));
    return Math.sqrt(Math.max(0, 1 - low * low));
  }

  /** Greatest factor of 8-bit codes. */
  get step(): number {
    return this.#step;
  }

  /** Begins a portion with a number of rows. Rows that are not encoded in it are never found. */
  begin(count: number): void {
    this.#layout = codeLayout(this.#shape, count);
    this.#bytes = new Uint8Array(this.#layout.bytes);
    this.#codes = new Int8Array(this.#bytes.buffer);
    this.#floats = new DataView(this.#bytes.buffer);
    const { rows } = this.#layout;
    for (let row = 0; row < rows; row++) this.#put(this.#layout.first + 4 * row, Infinity);
  }

  /** The portion. */
  end(): Uint8Array {
    return this.#bytes;
  }

  /** Encodes a vector as one row of the portion. */
  encode(vectors: VectorValues, from: number, row: number): void {
    if (!vectors.has(from)) return;
    if (this.#shape.whole) this.#encodeBits(vectors, from, row);
    else this.#encodeNumbers(vectors, from, row);
  }

  #encodeBits({ values }: VectorValues, from: number, row: number): void {
    const length = this.#shape.size / 8;
    for (let at = 0; at < length; at++)
      this.#bytes[this.#bitPlace(row, at)] = values[from * length + at]!;
    this.#put(this.#layout.first + 4 * row, 0);
    this.#put(this.#layout.second + 4 * row, 1);
  }

  #encodeNumbers({ values }: VectorValues, from: number, row: number): void {
    const { size } = this.#shape;
    const start = from * size;
    const squares = squaresOf(values, start, size);
    if (fitnessOf(squares, this.#distance) !== 'fit') return;
    const vector = this.#vector;
    const scale = this.#distance === 'cosine' ? 1 / Math.sqrt(squares) : 1;
    for (let at = 0; at < size; at++) vector[at] = values[start + at]! * scale - this.#middle[at]!;
    this.#rotation.turn(vector);
    this.#writeNumbers(row);
  }

  #writeNumbers(row: number): void {
    const vector = this.#vector;
    const { size } = this.#shape;
    let [squares, sum, most] = [0, 0, 0];
    for (let at = 0; at < size; at++) {
      const value = Math.abs(vector[at]!);
      squares += value * value;
      sum += value;
      if (value > most) most = value;
    }
    this.#count(squares, sum);
    const weights = weightsOf(this.#distance);
    const step = most / CODE_MOST;
    const factor = -weights.product * step;
    this.#step = Math.max(this.#step, -factor);
    const { first, second, codes, stride } = this.#layout;
    this.#put(first + 4 * row, weights.square * squares);
    this.#put(second + 4 * row, sum > 0 ? (-weights.product * squares) / sum : 0);
    this.#put(codes + stride * row, factor);
    this.#writeCodes(row, step > 0 ? 1 / step : 0);
  }

  #writeCodes(row: number, scale: number): void {
    const vector = this.#vector;
    const { size } = this.#shape;
    const { codes, stride } = this.#layout;
    const place = codes + stride * row + 4;
    for (let at = 0; at < size; at++) this.#codes[place + at] = Math.round(vector[at]! * scale);
    for (let at = 0; at < size; at += 8) {
      let bits = 0;
      for (let bit = 0; bit < 8 && at + bit < size; bit++) {
        if (vector[at + bit]! > 0) bits |= 1 << bit;
      }
      this.#bytes[this.#bitPlace(row, at >> 3)] = bits;
    }
  }

  #count(squares: number, sum: number): void {
    if (sum === 0) return;
    const cosine = sum / Math.sqrt(squares * this.#shape.size);
    this.#cosines += cosine;
    this.#cosineSquares += cosine * cosine;
    this.#encoded += 1;
  }

  #bitPlace(row: number, at: number): number {
    const block = Math.floor(row / BLOCK_ROWS) * this.#layout.bitBytes;
    return (block + at) * BLOCK_ROWS + (row % BLOCK_ROWS);
  }

  #put(place: number, value: number): void {
    this.#floats.setFloat32(place, value, true);
  }
}

/**
 * Weights of a distance: `square` times the squared length of a row minus `product` times its
 * product with the query, plus a part that depends on the query alone; relative to the mean.
 * Vectors have length 1 for the cosine.
 */
export function weightsOf(distance: SearchMetric): {
  readonly square: number;
  readonly product: number;
} {
  if (distance === 'l2') return { square: 1, product: 2 };
  return distance === 'cosine' ? { square: 0.5, product: 1 } : { square: 0, product: 1 };
}

type Numbers = Float32Array | Float64Array | Int8Array | Uint8Array;

/** Vectors of a column, stored contiguously. */
export interface VectorValues {
  readonly rows: number;
  readonly values: Numbers;
  /** Whether a row has a vector without null values. */
  readonly has: (row: number) => boolean;
}

/** The vectors of a column of fixed-size lists of floats or bytes. */
export function vectorValues(column: Data): VectorValues {
  const data = concatData([column]);
  const child = childData(data);
  const half = DataType.isFloat(child.type) && child.type.precision === Precision.HALF;
  const values: Numbers = half ? halfToFloat(child.values) : child.values;
  const size = DataType.isFixedSizeList(data.type) ? data.type.listSize : 0;
  const someNull = nullCountOf(data) > 0;
  const someItemNull = nullCountOf(child) > 0;
  const has = (row: number): boolean => {
    if (someNull && isNull(data, row)) return false;
    if (!someItemNull) return true;
    for (let at = row * size; at < (row + 1) * size; at++) if (isNull(child, at)) return false;
    return true;
  };
  return { rows: data.length, values, has };
}
