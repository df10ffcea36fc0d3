import type { RecordBatch } from 'apache-arrow';
import type { RowRange } from '../../../arrow/ipc/row-range.ts';
import { slice, take } from '../../../arrow/select.ts';
import { SmallBatches } from '../../format/small-batches.ts';

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

/** A batch of so many rows, or so many bytes, is worth sending by itself. */
const ENOUGH = { largeRows: 8192, largeBytes: 2 ** 20 };

/** Whether a batch is sent by itself. */
export function isLarge({
  rows,
  bytes,
}: {
  readonly rows: number;
  readonly bytes: number;
}): boolean {
  return rows >= ENOUGH.largeRows || bytes >= ENOUGH.largeBytes;
}

/** Merges small batches, so that a filter that keeps few rows of each does not answer with thousands of them. */
export async function* coalesce(batches: AsyncIterable<RecordBatch>): AsyncGenerator<RecordBatch> {
  const small = new SmallBatches(ENOUGH);
  for await (const batch of batches) yield* small.add(batch);
  yield* small.rest();
}

/** Some rows of a batch, ascending: a stretch of them, or a list. */
export type Rows =
  | { readonly kind: 'stretch'; readonly start: number; readonly count: number }
  | { readonly kind: 'list'; readonly rows: Uint32Array };

export function stretch(start: number, count: number): Rows {
  return { kind: 'stretch', start, count };
}

/** The rows of a list; a list of all rows is a stretch, which costs nothing to pick. */
export function listed(rows: Uint32Array, of: number): Rows {
  return rows.length === of ? stretch(0, of) : { kind: 'list', rows };
}

export function countOf(rows: Rows): number {
  return rows.kind === 'stretch' ? rows.count : rows.rows.length;
}

/** Some of some rows, by their order. */
export function part(rows: Rows, start: number, count: number): Rows {
  return rows.kind === 'stretch'
    ? stretch(rows.start + start, count)
    : { kind: 'list', rows: rows.rows.subarray(start, start + count) };
}

/** From the first of the rows to the last. */
export function rangeOf(rows: Rows): RowRange {
  if (rows.kind === 'stretch') return { start: rows.start, count: rows.count };
  const start = rows.rows[0] ?? 0;
  return { start, count: (rows.rows.at(-1) ?? start - 1) + 1 - start };
}

/** The same rows, counted from another one on. */
export function moved(rows: Rows, first: number): Rows {
  if (first === 0) return rows;
  if (rows.kind === 'stretch') return stretch(rows.start - first, rows.count);
  return { kind: 'list', rows: rows.rows.map((row) => row - first) };
}

/** The rows themselves. A list is copied, a stretch shares the batch's memory. */
export function pick(batch: RecordBatch, rows: Rows): RecordBatch {
  if (rows.kind === 'list') return take(batch, rows.rows);
  if (rows.start === 0 && rows.count === batch.numRows) return batch;
  return slice(batch, rows.start, rows.count);
}

/** Which row of the batch stands at a place among them. */
export function rowAt(rows: Rows): (place: number) => number {
  return rows.kind === 'list' ? (place) => rows.rows[place]! : (place) => rows.start + place;
}
