import { countOf, part, stretch, type Rows } from './rows.ts';

/** Which rows of a sequence are answered. */
export interface Window {
  /** Rows to leave out first. */
  readonly offset: number;
  /** Rows to answer; null for all. */
  readonly limit: number | null;
}

/** Cuts a sequence of batches down to a window, as it passes. */
export class WindowCutter {
  #skip: number;
  #left: number;

  constructor(window: Window) {
    this.#skip = window.offset;
    this.#left = window.limit ?? Infinity;
  }

  /** Whether nothing that follows can be in the window. */
  get done(): boolean {
    return this.#left === 0;
  }

  /** Those of the next rows that are in the window. */
  cut(rows: Rows): Rows {
    const count = countOf(rows);
    const skipped = Math.min(this.#skip, count);
    this.#skip -= skipped;
    const kept = Math.min(this.#left, count - skipped);
    this.#left -= kept;
    if (kept === 0) return stretch(0, 0);
    return kept === count ? rows : part(rows, skipped, kept);
  }
}
