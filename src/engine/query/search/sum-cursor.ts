import { END, isBounded, type BoundedCursor, type Cursor } from './cursor.ts';

/**
 * Rows of any cursor, scored with the sum. Cursors that together cannot reach the demanded score
 * are only consulted for rows that the others find (MaxScore). If the cursors know bounds of some
 * rows, rows that together cannot reach it are skipped (block-max).
 */
export class SumCursor implements Cursor {
  row: number;
  readonly bound: number;
  readonly count: number;
  /** Ascending by bound. */
  readonly #parts: readonly Cursor[];
  /** The parts, if all of them know bounds of some rows. */
  readonly #bounded: readonly BoundedCursor[] | null;
  /** Sum of the bounds of each part and all earlier ones. */
  readonly #bounds: Float64Array;
  /** The same for the rows before `#reach`. */
  readonly #near: Float64Array;
  /** Scores of a row, by part. */
  readonly #scores: Float64Array;
  #reach = 0;
  /** First part that produces rows; earlier parts only add to scores. */
  #first = 0;
  #demanded = -Infinity;

  constructor(parts: readonly Cursor[]) {
    this.#parts = parts.toSorted((one, other) => one.bound - other.bound);
    this.#bounded = this.#parts.every(isBounded) ? this.#parts : null;
    this.#bounds = new Float64Array(parts.length);
    let sum = 0;
    for (const [at, part] of this.#parts.entries()) this.#bounds[at] = sum += part.bound;
    this.#near = this.#bounds.slice();
    this.#scores = new Float64Array(parts.length);
    this.bound = sum;
    this.count = parts.reduce((count, part) => count + part.count, 0);
    this.row = this.#nearest();
  }

  next(): number {
    const parts = this.#parts;
    for (let at = this.#first; at < parts.length; at++) {
      if (parts[at]!.row === this.row) parts[at]!.next();
    }
    return (this.row = this.#reaching(this.#nearest()));
  }

  seek(row: number): number {
    if (this.row >= row) return this.row;
    return (this.row = this.#reaching(this.#from(row)));
  }

  /** Summed in the order of the parts, whichever of them produce rows. */
  score(): number {
    if (this.#first > 0) return this.#lateScore();
    let sum = 0;
    for (const part of this.#parts) if (part.row === this.row) sum += part.score();
    return sum;
  }

  #lateScore(): number {
    const { row } = this;
    const scores = this.#scores.fill(0);
    let sum = 0;
    for (let at = this.#first; at < this.#parts.length; at++) {
      if (this.#parts[at]!.row === row) sum += scores[at] = this.#parts[at]!.score();
    }
    for (let at = this.#first - 1; at >= 0; at--) {
      if (sum + this.#near[at]! <= this.#demanded) return sum;
      if (this.#parts[at]!.seek(row) === row) sum += scores[at] = this.#parts[at]!.score();
    }
    return scores.reduce((all, score) => all + score, 0);
  }

  demand(score: number): void {
    this.#demanded = score;
    while (this.#first < this.#parts.length && this.#bounds[this.#first]! <= score) this.#first++;
  }

  /** The first row, at or after one of them, in a range whose rows may reach the demanded score. */
  #reaching(from: number): number {
    const bounded = this.#bounded;
    if (bounded === null || this.#demanded === -Infinity) return from;
    let row = from;
    while (row !== END && (row >= this.#reach || this.#nearBound <= this.#demanded)) {
      if (row >= this.#reach) this.#look(bounded, row);
      if (this.#nearBound > this.#demanded) break;
      row = this.#from(this.#reach);
    }
    return row;
  }

  /** Upper bound of the scores of rows before `#reach`. */
  get #nearBound(): number {
    return this.#near[this.#near.length - 1]!;
  }

  /** Learns bounds of the rows from one on. */
  #look(parts: readonly BoundedCursor[], row: number): void {
    let sum = 0;
    this.#reach = END;
    for (let at = 0; at < parts.length; at++) {
      this.#near[at] = sum += parts[at]!.boundFrom(row);
      this.#reach = Math.min(this.#reach, parts[at]!.reach);
    }
  }

  /** Moves the parts that produce rows. Returns the first of their rows that is not before one. */
  #from(row: number): number {
    for (let at = this.#first; at < this.#parts.length; at++) this.#parts[at]!.seek(row);
    return this.#nearest();
  }

  #nearest(): number {
    let row = END;
    for (let at = this.#first; at < this.#parts.length; at++) {
      if (this.#parts[at]!.row < row) row = this.#parts[at]!.row;
    }
    return row;
  }
}
