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
  /** Where the bounds end that were compared with the demanded score. */
  #reach = END;
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
    const row = this.#nearest();
    return (this.row = row < this.#reach ? row : this.#reaching(row));
  }

  seek(row: number): number {
    if (this.row >= row) return this.row;
    const next = this.#from(row);
    return (this.row = next < this.#reach ? next : this.#reaching(next));
  }

  /** Summed in the order of the parts, whichever of them produce rows. */
  score(): number {
    if (this.#first > 0) return this.#lateScore();
    let sum = 0;
    for (const part of this.#parts) if (part.row === this.row) sum += part.score();
    return sum;
  }

  /** The score where earlier parts are behind; less than it if it is no more than the demanded one. */
  #lateScore(): number {
    const [parts, scores, row] = [this.#parts, this.#scores, this.row];
    let sum = 0;
    for (let at = this.#first; at < parts.length; at++) {
      const part = parts[at]!;
      sum += scores[at] = part.row === row ? part.score() : 0;
    }
    for (let at = this.#first - 1; at >= 0; at--) {
      if (sum + this.#near[at]! <= this.#demanded) return sum;
      const part = parts[at]!;
      sum += scores[at] = part.seek(row) === row ? part.score() : 0;
    }
    if (sum <= this.#demanded || parts.length === 2) return sum;
    let ordered = 0;
    for (let at = 0; at < parts.length; at++) ordered += scores[at]!;
    return ordered;
  }

  demand(score: number): void {
    this.#demanded = score;
    while (this.#first < this.#parts.length && this.#bounds[this.#first]! <= score) this.#first++;
    const isOpen = this.#reach === END || this.#near[this.#near.length - 1]! <= score;
    if (isOpen && score > -Infinity) this.#reach = 0;
  }

  /** The first row, at or after one of them, in a range whose rows may reach the demanded score. */
  #reaching(from: number): number {
    let row = from;
    while (row !== END && this.#bounded !== null && row >= this.#reach) {
      if (this.#look(this.#bounded, row) > this.#demanded) break;
      row = this.#from(this.#reach);
    }
    return row;
  }

  /** Learns bounds of the rows from one on. Returns that of their scores. */
  #look(parts: readonly BoundedCursor[], row: number): number {
    let [sum, reach] = [0, END];
    for (let at = 0; at < parts.length; at++) {
      const part = parts[at]!;
      this.#near[at] = sum += part.boundFrom(row);
      if (part.reach < reach) ({ reach } = part);
    }
    this.#reach = reach;
    return sum;
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
