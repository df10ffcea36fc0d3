import type { DataType, FixedSizeList } from 'apache-arrow';
import { bitmapBytes } from '../bitmap.ts';
import type { ColumnPlace } from './column-shape.ts';
import { corrupt } from '../arrow-error.ts';
import { layoutOf, widthOf, type Layout } from '../layout.ts';
import type { BatchHeader } from './message.ts';
import type { OffsetValues } from './narrowed-values.ts';

/** Rows of a batch that follow one another. */
export interface RowRange {
  readonly start: number;
  readonly count: number;
}

/** The parts of one column to read for a range of rows. */
interface ColumnRows {
  /** How many rows are read. */
  readonly read: number;
  /** The rows that are wanted, among those. */
  readonly wanted: RowRange;
  /** Parts that are read after the offsets of the rows. */
  readonly late?: OffsetValues;
}

/** A batch reduced to the parts to read. */
export interface NarrowedBatch {
  readonly header: BatchHeader;
  readonly columns: readonly ColumnRows[];
}

/**
 * Narrows a batch to a range of rows. Where the bytes of a row are known
 * beforehand (fixed values, and vectors of them), only those of the range are
 * left, from the start of a byte of the validity bits on; of texts and binaries the
 * offsets, which then tell of the values. Other columns stay whole.
 */
export function narrowBatch(
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
      // For most rows everything is read at once.
      const width = 2 * read.count < whole.rows ? offsetWidths[layoutOf(type)] : undefined;
      if (whole.codec !== undefined || !(hasFixedRows(type) || width !== undefined)) {
        return { read: whole.rows, wanted: rows };
      }
      const own = { read: read.count, wanted: { start: skipped, count: rows.count } };
      if (width === undefined) {
        narrowColumn(header, type, place, read);
        return own;
      }
      return { ...own, late: narrowOffsets(header, place, read, width) };
    }),
  };
}

function hasFixedRows(type: DataType): boolean {
  return layoutOf(layoutOf(type) === 'fixed-list' ? itemType(type) : type) === 'fixed';
}

const offsetWidths: Readonly<Partial<Record<Layout, 4 | 8>>> = { bytes: 4, 'large-bytes': 8 };

function narrowOffsets(
  header: BatchHeader,
  place: Start,
  read: RowRange,
  width: 4 | 8,
): OffsetValues {
  const { buffer } = place;
  narrowRows(header, place, read);
  cut(header.buffers, buffer + 1, read.start * width, (read.count + 1) * width);
  return { offsets: buffer + 1, values: buffer + 2, rows: read.count, width };
}

function itemType(type: DataType): DataType {
  return (type as FixedSizeList).valueType;
}

type Start = Pick<ColumnPlace, 'node' | 'buffer'>;

function narrowColumn(header: BatchHeader, type: DataType, place: Start, rows: RowRange): void {
  narrowRows(header, place, rows);
  const { buffers } = header;
  const { node, buffer } = place;
  const { start, count } = rows;
  if (layoutOf(type) === 'fixed') {
    const width = widthOf(type);
    cut(buffers, buffer + 1, start * width, count * width);
  } else {
    const { listSize } = type as FixedSizeList;
    const items = { start: start * listSize, count: count * listSize };
    narrowColumn(header, itemType(type), { node: node + 1, buffer: buffer + 1 }, items);
  }
}

/** How many rows there are, and which of them are null. */
function narrowRows(
  { nodes, buffers }: BatchHeader,
  { node, buffer }: Start,
  { start, count }: RowRange,
): void {
  nodes[2 * node] = count;
  // The number of nulls among these rows is unknown.
  if (nodes[2 * node + 1]! > 0) nodes[2 * node + 1] = -1;
  const hasBits = buffers[2 * buffer + 1]! > 0;
  if (hasBits) cut(buffers, buffer, start / 8, bitmapBytes(count));
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
