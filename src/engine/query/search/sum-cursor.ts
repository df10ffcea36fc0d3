import { END, type Cursor } from './cursor.ts';

/**
 * What any of some cursors finds, with the sum of their scores. Once scores are demanded
 * that some of the cursors cannot reach together, these are only asked about rows that the
 * others find (the algorithm known as MaxScore).
 */
export class SumCursor implements Cursor {
  row: number;
  readonly bound: number;
  readonly count: number;
  /** Those with the lowest bounds first. */
  readonly #parts: readonly Cursor[];
  /** The highest score of each part and all before it together. */
  readonly #bounds: Float64Array;
  /** The first part that leads to rows; those before it only add to their scores. */
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
