import type { RecordBatch } from 'apache-arrow';
import type { RowRange } from '../../../arrow/ipc/row-range.ts';
import { slice, take } from '../../../arrow/select.ts';
import { SmallBatches } from '../../format/small-batches.ts';

/** The part of a sequence to answer. */
export interface Window {
  /** Rows to skip. */
  readonly offset: number;
  /** Rows to answer; null for all. */
  readonly limit: number | null;
}

/** Cuts a sequence of batches down to a window. */
export class WindowCutter {
  #skip: number;
  #left: number;

  constructor(window: Window) {
    this.#skip = window.offset;
    this.#left = window.limit ?? Infinity;
  }

  /** Whether the window is complete. */
  get done(): boolean {
    return this.#left === 0;
  }

  /** The next rows that are in the window. */
  cut(rows: Rows): Rows {
    const count = countOf(rows);
    const skipped = Math.min(this.#skip, count);
    this.#skip -= skipped;
    const retained = Math.min(this.#left, count - skipped);
    this.#left -= retained;
    if (retained === 0) return stretch(0, 0);
    return retained === count ? rows : part(rows, skipped, retained);
  }
}

/** Batches of at least this size are sent separately. */
const ENOUGH = { largeRows: 8192, largeBytes: 2 ** 20 };

/** Whether a batch is large enough to be sent separately. */
export function isLarge({
  rows,
  bytes,
}: {
  readonly rows: number;
  readonly bytes: number;
}): boolean {
  return rows >= ENOUGH.largeRows || bytes >= ENOUGH.largeBytes;
}

/** Joins small batches, so that a selective filter does not answer with thousands of them. */
export async function* coalesce(batches: AsyncIterable<RecordBatch>): AsyncGenerator<RecordBatch> {
  const small = new SmallBatches(ENOUGH);
  for await (const batch of batches) yield* small.add(batch);
  yield* small.rest();
}

/** Rows of a batch, ascending: a range or a list. */
export type Rows =
  | { readonly kind: 'stretch'; readonly start: number; readonly count: number }
  | { readonly kind: 'list'; readonly rows: Uint32Array };

export function stretch(start: number, count: number): Rows {
  return { kind: 'stretch', start, count };
}

/** Rows from a list; a list of all rows becomes a range, which is free to pick. */
export function listed(rows: Uint32Array, of: number): Rows {
  return rows.length === of ? stretch(0, of) : { kind: 'list', rows };
}

export function countOf(rows: Rows): number {
  return rows.kind === 'stretch' ? rows.count : rows.rows.length;
}

/** A part of some rows, by order. */
function part(rows: Rows, start: number, count: number): Rows {
  return rows.kind === 'stretch'
    ? stretch(rows.start + start, count)
    : { kind: 'list', rows: rows.rows.subarray(start, start + count) };
}

/** The range that spans some rows. */
function rowRangeOf(rows: Rows): RowRange {
  if (rows.kind === 'stretch') return { start: rows.start, count: rows.count };
  const start = rows.rows[0] ?? 0;
  return { start, count: (rows.rows.at(-1) ?? start - 1) + 1 - start };
}

/** The range that spans some rows of a batch of a size, if it is worth reading alone. */
export function fewOf(rows: Rows, of: number): RowRange | undefined {
  const range = rowRangeOf(rows);
  return 2 * range.count < of ? range : undefined;
}

/** Rows relative to another first row. */
export function relativeRows(rows: Rows, first: number): Rows {
  if (first === 0) return rows;
  if (rows.kind === 'stretch') return stretch(rows.start - first, rows.count);
  return { kind: 'list', rows: rows.rows.map((row) => row - first) };
}

/** Picks rows of a batch. A list is copied, a range shares memory. */
export function pick(batch: RecordBatch, rows: Rows): RecordBatch {
  if (rows.kind === 'list') return take(batch, rows.rows);
  if (rows.start === 0 && rows.count === batch.numRows) return batch;
  return slice(batch, rows.start, rows.count);
}

/** Maps a position among the rows to a row of the batch. */
export function rowAt(rows: Rows): (place: number) => number {
  return rows.kind === 'list' ? (place) => rows.rows[place]! : (place) => rows.start + place;
}
