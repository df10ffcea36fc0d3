import type { SearchMetric } from '../../request/search-metric.ts';
import { BLOCK_ROWS, codeLayout, type CodeLayout, type CodeShape } from './code-layout.ts';
import { rotationOf } from './rotation.ts';
import { fitnessOf, squaresOf } from './vector-sums.ts';
import type { VectorValues } from './vector-values.ts';

/** Greatest absolute 8-bit code. */
const CODE_MOST = 127;

/** Encodes vectors portion by portion. */
export class VectorEncoder {
  readonly #shape: CodeShape;
  readonly #distance: SearchMetric;
  readonly #middle: Float64Array;
  readonly #parted: boolean;
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

  /** @param parted Whether vectors are encoded relative to the centres of partitions. */
  constructor(shape: CodeShape, distance: SearchMetric, middle: Float64Array, parted: boolean) {
    this.#shape = shape;
    this.#distance = distance;
    this.#middle = middle;
    this.#parted = parted;
    this.#rotation = rotationOf(shape.size);
    this.#vector = new Float64Array(shape.size);
    this.#layout = codeLayout(shape, 0, parted);
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
    this.#layout = codeLayout(this.#shape, count, this.#parted);
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
    if (this.#shape.whole) this.#encodeBits(vectors, from, row);
    else if (this.rotate(vectors, from) !== null) this.write(row, null);
  }

  #encodeBits({ values, has }: VectorValues, from: number, row: number): void {
    if (!has(from)) return;
    const length = this.#shape.size / 8;
    for (let at = 0; at < length; at++)
      this.#bytes[this.#bitPlace(row, at)] = values[from * length + at]!;
    this.#put(this.#layout.first + 4 * row, 0);
    this.#put(this.#layout.second + 4 * row, 1);
  }

  /**
   * The rotated vector of a row, relative to the mean, which `write` encodes; null for a vector that
   * is not encoded. Valid until the next call.
   */
  rotate({ values, has }: VectorValues, from: number): Float64Array | null {
    if (!has(from)) return null;
    const { size } = this.#shape;
    const start = from * size;
    const squares = squaresOf(values, start, size);
    if (fitnessOf(squares, this.#distance) !== 'fit') return null;
    const vector = this.#vector;
    const scale = this.#distance === 'cosine' ? 1 / Math.sqrt(squares) : 1;
    for (let at = 0; at < size; at++) vector[at] = values[start + at]! * scale - this.#middle[at]!;
    this.#rotation.turn(vector);
    return vector;
  }

  /**
   * Encodes the last rotated vector, relative to a centre, as one row of the portion. Returns its
   * distance to the centre.
   */
  write(row: number, centre: Float32Array | null): number {
    const vector = this.#vector;
    const { size } = this.#shape;
    let [squares, sum, most, bits] = [0, 0, 0, 0];
    for (let at = 0; at < size; at++) {
      const apart = centre === null ? 0 : centre[at]!;
      vector[at]! -= apart;
      const value = Math.abs(vector[at]!);
      squares += value * value;
      sum += value;
      bits += vector[at]! > 0 ? apart : -apart;
      if (value > most) most = value;
    }
    this.#count(squares, sum);
    const { square, product } = weightsOf(this.#distance);
    const step = most / CODE_MOST;
    const second = sum > 0 ? (-product * squares) / sum : 0;
    this.#step = Math.max(this.#step, product * step);
    this.#put(this.#layout.first + 4 * row, square * squares - this.#shift(second * bits));
    this.#put(this.#layout.second + 4 * row, second);
    const place = this.#layout.codes + this.#layout.stride * row;
    const coded = this.#writeCodes(row, step > 0 ? 1 / step : 0, centre);
    this.#put(place, -product * step);
    if (this.#parted) {
      this.#put(place + 4, square * squares + this.#shift(product * step * coded));
    }
    return Math.sqrt(squares);
  }

  /** Products are those with the query itself, distances those to the query relative to the centre. */
  #shift(value: number): number {
    return this.#distance === 'dot' ? 0 : value;
  }

  /** Returns the product of the codes with the centre. */
  #writeCodes(row: number, scale: number, centre: Float32Array | null): number {
    const vector = this.#vector;
    const { size } = this.#shape;
    const { codes, stride, head } = this.#layout;
    const place = codes + stride * row + head;
    let product = 0;
    for (let at = 0; at < size; at++) {
      const code = Math.round(vector[at]! * scale);
      this.#codes[place + at] = code;
      if (centre !== null) product += code * centre[at]!;
    }
    for (let at = 0; at < size; at += 8) {
      let bits = 0;
      for (let bit = 0; bit < 8 && at + bit < size; bit++) {
        if (vector[at + bit]! > 0) bits |= 1 << bit;
      }
      this.#bytes[this.#bitPlace(row, at >> 3)] = bits;
    }
    return product;
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
