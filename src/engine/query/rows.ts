import type { RecordBatch } from 'apache-arrow';
import type { RowRange } from '../../arrow/row-range.ts';
import { slice, take } from '../../arrow/select.ts';

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
