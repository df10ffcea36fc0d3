import { END, type Cursor } from './cursor.ts';
import { itemAt } from '../../base/items.ts';

/** Rows of all cursors, scored with the sum. */
export class AllCursor implements Cursor {
  row: number;
  readonly bound: number;
  readonly count: number;
  readonly #parts: readonly Cursor[];
  readonly #first: Cursor;
  readonly #others: readonly Cursor[];

  /** @param parts At least one. */
  constructor(parts: readonly Cursor[]) {
    // The cursor that finds the fewest rows leads.
    this.#parts = parts.toSorted((one, other) => one.count - other.count);
    this.#first = itemAt(this.#parts, 0);
    this.#others = this.#parts.slice(1);
    this.bound = parts.reduce((sum, part) => sum + part.bound, 0);
    this.count = this.#first.count;
    this.row = this.#agreed(this.#first.row);
  }

  next(): number {
    return (this.row = this.#agreed(this.#first.next()));
  }

  seek(row: number): number {
    if (this.row >= row) return this.row;
    return (this.row = this.#agreed(this.#first.seek(row)));
  }

  score(): number {
    return this.#parts.reduce((sum, part) => sum + part.score(), 0);
  }

  demand(): void {
    // All parts are needed for each row.
  }

  /** The first row, at or after a row of the first part, that all parts have. */
  #agreed(from: number): number {
    let row = from;
    while (row !== END) {
      const other = this.#rowOfOthers(row);
      if (other === row) return row;
      row = this.#first.seek(other);
    }
    return row;
  }

  /** The row itself if the other parts have it, else the row of the first part that does not. */
  #rowOfOthers(row: number): number {
    for (const part of this.#others) {
      const other = part.seek(row);
      if (other !== row) return other;
    }
    return row;
  }
}

/** Rows of any cursor, scored with the best. */
export class BestCursor implements Cursor {
  row: number;
  readonly bound: number;
  readonly count: number;
  readonly #parts: readonly Cursor[];

  constructor(parts: readonly Cursor[]) {
    this.#parts = parts;
    this.bound = Math.max(0, ...parts.map(({ bound }) => bound));
    this.count = parts.reduce((count, part) => count + part.count, 0);
    this.row = this.#nearest();
  }

  next(): number {
    for (const part of this.#parts) if (part.row === this.row) part.next();
    return (this.row = this.#nearest());
  }

  seek(row: number): number {
    if (this.row >= row) return this.row;
    for (const part of this.#parts) part.seek(row);
    return (this.row = this.#nearest());
  }

  score(): number {
    let best = -Infinity;
    for (const part of this.#parts) {
      if (part.row === this.row) best = Math.max(best, part.score());
    }
    return best;
  }

  demand(score: number): void {
    for (const part of this.#parts) part.demand(score);
  }

  #nearest(): number {
    return this.#parts.reduce((nearest, { row }) => Math.min(nearest, row), END);
  }
}

/** Rows of a cursor that pass a test, which may depend on other cursors' positions. */
export class FilteredCursor implements Cursor {
  row: number;
  readonly bound: number;
  readonly count: number;
  readonly #base: Cursor;
  readonly #passes: (row: number) => boolean;

  constructor(base: Cursor, passes: (row: number) => boolean) {
    this.#base = base;
    this.#passes = passes;
    this.bound = base.bound;
    this.count = base.count;
    this.row = this.#passing(base.row);
  }

  next(): number {
    return (this.row = this.#passing(this.#base.next()));
  }

  seek(row: number): number {
    if (this.row >= row) return this.row;
    return (this.row = this.#passing(this.#base.seek(row)));
  }

  score(): number {
    return this.#base.score();
  }

  demand(score: number): void {
    this.#base.demand(score);
  }

  #passing(from: number): number {
    let row = from;
    while (row !== END && !this.#passes(row)) row = this.#base.next();
    return row;
  }
}

/**
 * Rows of a cursor. Scores change by a factor times the score of another cursor where it finds the
 * row too.
 */
export class AdjustedCursor implements Cursor {
  readonly bound: number;
  readonly count: number;
  readonly #base: Cursor;
  readonly #other: Cursor;
  readonly #times: number;

  constructor(base: Cursor, other: Cursor, times: number) {
    this.#base = base;
    this.#other = other;
    this.#times = times;
    this.count = base.count;
    this.bound = base.bound + Math.max(0, times * other.bound);
  }

  get row(): number {
    return this.#base.row;
  }

  next(): number {
    return this.#base.next();
  }

  seek(row: number): number {
    return this.#base.seek(row);
  }

  score(): number {
    const { row } = this.#base;
    const score = this.#base.score();
    return this.#other.seek(row) === row ? score + this.#times * this.#other.score() : score;
  }

  demand(): void {
    // A low score of one part may be made up for by the other.
  }
}
