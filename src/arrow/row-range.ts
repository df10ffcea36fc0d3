import type { DataType, FixedSizeList } from 'apache-arrow';
import { bitmapBytes } from './bitmap.ts';
import type { ColumnPlace } from './column-shape.ts';
import { corrupt } from './errors.ts';
import { layoutOf, widthOf } from './layout.ts';
import type { BatchHeader } from './message.ts';

/** Rows of a batch that follow one another. */
export interface RowRange {
  readonly start: number;
  readonly count: number;
}

/** What is read of one column for a range of rows. */
export interface ColumnRows {
  /** How many rows are read. */
  readonly read: number;
  /** The rows that are wanted, among those. */
  readonly wanted: RowRange;
}

/** A batch as if it had only what is read of it. */
export interface NarrowedBatch {
  readonly header: BatchHeader;
  /** For each of the columns. */
  readonly columns: readonly ColumnRows[];
}

/**
 * Narrows a batch to a range of rows. Where the bytes of a row are known
 * beforehand (fixed values, and vectors of them), only those of the range are
 * left, from the start of a byte of the validity bits on; other columns stay whole.
 */
export function narrow(
  whole: BatchHeader,
  columns: readonly { readonly type: DataType; readonly place: ColumnPlace }[],
  rows: RowRange,
): NarrowedBatch {
  if (rows.start === 0 && rows.count === whole.rows) {
    return { header: whole, columns: columns.map(() => ({ read: whole.rows, wanted: rows })) };
  }
  const header = { ...whole, nodes: whole.nodes.slice(), buffers: whole.buffers.slice() };
  const skipped = rows.start % 8;
  const read = { start: rows.start - skipped, count: rows.count + skipped };
  return {
    header,
    columns: columns.map(({ type, place }) => {
      if (whole.codec !== undefined || !hasFixedRows(type)) {
        return { read: whole.rows, wanted: rows };
      }
      narrowColumn(header, type, place, read);
      return { read: read.count, wanted: { start: skipped, count: rows.count } };
    }),
  };
}

function hasFixedRows(type: DataType): boolean {
  return layoutOf(layoutOf(type) === 'fixed-list' ? itemType(type) : type) === 'fixed';
}

function itemType(type: DataType): DataType {
  return (type as FixedSizeList).valueType;
}

type Start = Pick<ColumnPlace, 'node' | 'buffer'>;

function narrowColumn(
  header: BatchHeader,
  type: DataType,
  { node, buffer }: Start,
  { start, count }: RowRange,
): void {
  const { nodes, buffers } = header;
  nodes[2 * node] = count;
  // How many of the nulls are among these rows is not known.
  if (nodes[2 * node + 1]! > 0) nodes[2 * node + 1] = -1;
  const hasBits = buffers[2 * buffer + 1]! > 0;
  if (hasBits) cut(buffers, buffer, start / 8, bitmapBytes(count));
  if (layoutOf(type) === 'fixed') {
    const width = widthOf(type);
    cut(buffers, buffer + 1, start * width, count * width);
  } else {
    const { listSize } = type as FixedSizeList;
    const items = { start: start * listSize, count: count * listSize };
    narrowColumn(header, itemType(type), { node: node + 1, buffer: buffer + 1 }, items);
  }
}

function cut(buffers: Float64Array, buffer: number, skipped: number, length: number): void {
  if (skipped + length > buffers[2 * buffer + 1]!) {
    throw corrupt(
      `A buffer of a batch has ${buffers[2 * buffer + 1]} bytes, too few for its rows.`,
    );
  }
  buffers[2 * buffer]! += skipped;
  buffers[2 * buffer + 1] = length;
}
