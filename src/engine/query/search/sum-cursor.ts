import { END, type Cursor } from './cursor.ts';

/**
 * Rows of any cursor, scored with the sum. Cursors that together cannot reach the demanded score
 * are only consulted for rows that the others find (MaxScore).
 */
export class SumCursor implements Cursor {
  row: number;
  readonly bound: number;
  readonly count: number;
  /** Ascending by bound. */
  readonly #parts: readonly Cursor[];
  /** Sum of the bounds of each part and all earlier ones. */
  readonly #bounds: Float64Array;
  /** First part that produces rows; earlier parts only add to scores. */
  #first = 0;
  #demanded = -Infinity;

  constructor(parts: readonly Cursor[]) {
    this.#parts = parts.toSorted((one, other) => one.bound - other.bound);
    this.#bounds = new Float64Array(parts.length);
    let sum = 0;
    for (const [at, part] of this.#parts.entries()) this.#bounds[at] = sum += part.bound;
    this.bound = sum;
    this.count = parts.reduce((count, part) => count + part.count, 0);
    this.row = this.#nearest();
  }

  next(): number {
    const parts = this.#parts;
    for (let at = this.#first; at < parts.length; at++) {
      if (parts[at]!.row === this.row) parts[at]!.next();
    }
    return (this.row = this.#nearest());
  }

  seek(row: number): number {
    if (this.row >= row) return this.row;
    for (let at = this.#first; at < this.#parts.length; at++) this.#parts[at]!.seek(row);
    return (this.row = this.#nearest());
  }

  score(): number {
    const { row } = this;
    let sum = 0;
    for (let at = this.#first; at < this.#parts.length; at++) {
      if (this.#parts[at]!.row === row) sum += this.#parts[at]!.score();
    }
    for (let at = this.#first - 1; at >= 0; at--) {
      if (sum + this.#bounds[at]! <= this.#demanded) return sum;
      if (this.#parts[at]!.seek(row) === row) sum += this.#parts[at]!.score();
    }
    return sum;
  }

  demand(score: number): void {
    this.#demanded = score;
    while (this.#first < this.#parts.length && this.#bounds[this.#first]! <= score) this.#first++;
  }

  #nearest(): number {
    let row = END;
    for (let at = this.#first; at < this.#parts.length; at++) {
      if (this.#parts[at]!.row < row) row = this.#parts[at]!.row;
    }
    return row;
  }
}
