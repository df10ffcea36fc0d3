import { centreFloats, type CodeShape } from './code-layout.ts';
import type { VectorEncoder } from './vector-encoder.ts';
import type { VectorValues } from './vector-values.ts';

/** Memory of a sample, in bytes. */
const SAMPLE_BYTES = 2 ** 24;

/** Vectors of some rows of a fragment, one from each of equal stretches of rows. */
export class VectorSample {
  readonly #size: number;
  readonly #count: number;
  readonly #stretch: number;
  readonly #values: Float32Array;
  readonly #rows: number[] = [];
  #next: number;

  /** @param most Vectors wanted; fewer if they take too much memory. */
  constructor(size: number, rows: number, most: number) {
    this.#count = Math.max(1, Math.min(rows, most, Math.floor(SAMPLE_BYTES / (4 * size))));
    this.#size = size;
    this.#stretch = rows / this.#count;
    this.#values = new Float32Array(this.#count * size);
    this.#next = this.#rowOf(0);
  }

  /** Takes the row if it is the next of the sample. Rows are offered in order. */
  add({ values, has }: VectorValues, row: number, position: number): void {
    const { length } = this.#rows;
    if (position !== this.#next || length === this.#count) return;
    this.#next = Math.max(position + 1, this.#rowOf(length + 1));
    const start = row * this.#size;
    if (has(row)) this.#values.set(values.subarray(start, start + this.#size), length * this.#size);
    this.#rows.push(has(row) ? position : -1);
  }

  /** Number of the rows. */
  get count(): number {
    return this.#rows.length;
  }

  /** The vectors, rotated and padded as the centres of partitions, without those that are not encoded. */
  points(shape: CodeShape, encoder: VectorEncoder): Float32Array {
    const floats = centreFloats(shape);
    const points = new Float32Array(this.#rows.length * floats);
    let found = 0;
    for (const [at, row] of this.#rows.entries()) {
      const vector = row < 0 ? null : encoder.rotate(this.#vectors, at);
      if (vector !== null) points.set(vector, floats * found++);
    }
    return points.subarray(0, found * floats);
  }

  /** Some rows, at equal intervals, with their vectors. */
  some(most: number): readonly { readonly row: number; readonly vector: Float32Array }[] {
    const step = Math.max(1, this.#rows.length / most);
    const found: { row: number; vector: Float32Array }[] = [];
    for (let at = 0; at < this.#rows.length; at += step) {
      const place = Math.floor(at);
      const row = this.#rows[place]!;
      const vector = this.#values.subarray(place * this.#size, (place + 1) * this.#size);
      if (row >= 0) found.push({ row, vector });
    }
    return found;
  }

  get #vectors(): VectorValues {
    return { rows: this.#rows.length, values: this.#values, has: () => true };
  }

  /** A pseudo-random row of a stretch, so that no period of the rows matters. */
  #rowOf(stretch: number): number {
    const part = ((Math.imul(stretch + 1, 0x9e_37_79_b1) >>> 8) % 4096) / 4096;
    return Math.floor((stretch + part) * this.#stretch);
  }
}
