import type { DataType, FixedSizeList } from 'apache-arrow';
import { bitmapBytes } from './bitmap.ts';
import type { ColumnPlace } from './column-shape.ts';
import { corrupt } from './errors.ts';
import { layoutOf, widthOf } from './layout.ts';
import type { BatchHeader } from './message.ts';

/** Bytes of an offset into texts. */
const OFFSET_BYTES = 4;

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
  /** Buffers of bytes of which the offsets, in the buffer before, will tell what is wanted. */
  readonly texts: readonly number[];
}

/**
 * Narrows a batch to a range of rows. Where the bytes of a row are known
 * beforehand (fixed values, and vectors of them), only those of the range are
 * left, from the start of a byte of the validity bits on. Of texts the offsets are, and
 * `cutText` makes their bytes fewer once these are read. Other columns stay whole.
 */
export function narrow(
  whole: BatchHeader,
  columns: readonly { readonly type: DataType; readonly place: ColumnPlace }[],
  rows: RowRange,
): NarrowedBatch {
  if (rows.start === 0 && rows.count === whole.rows) {
    const all = columns.map(() => ({ read: whole.rows, wanted: rows }));
    return { header: whole, columns: all, texts: [] };
  }
  const header = { ...whole, nodes: whole.nodes.slice(), buffers: whole.buffers.slice() };
  const skipped = rows.start % 8;
  const read = { start: rows.start - skipped, count: rows.count + skipped };
  const texts: number[] = [];
  return {
    header,
    texts,
    columns: columns.map(({ type, place }) => {
      const isText = layoutOf(type) === 'bytes';
      if (whole.codec !== undefined || !(isText || hasFixedRows(type))) {
        return { read: whole.rows, wanted: rows };
      }
      narrowColumn(header, type, place, read);
      if (isText) texts.push(place.buffer + 2);
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
  if (layoutOf(type) === 'bytes') {
    cut(buffers, buffer + 1, start * OFFSET_BYTES, (count + 1) * OFFSET_BYTES);
  } else if (layoutOf(type) === 'fixed') {
    const width = widthOf(type);
    cut(buffers, buffer + 1, start * width, count * width);
  } else {
    const { listSize } = type as FixedSizeList;
    const items = { start: start * listSize, count: count * listSize };
    narrowColumn(header, itemType(type), { node: node + 1, buffer: buffer + 1 }, items);
  }
}

/**
 * Leaves of a buffer of bytes what the offsets of some rows say.
 * @returns the offsets, counted from there.
 */
export function cutText({ buffers }: BatchHeader, buffer: number, offsets: Uint8Array): Uint8Array {
  const view = new DataView(offsets.buffer, offsets.byteOffset, offsets.byteLength);
  const counted = new Uint8Array(offsets.length);
  const own = new DataView(counted.buffer);
  const first = view.getInt32(0, true);
  for (let at = 0; at < offsets.length; at += OFFSET_BYTES) {
    own.setInt32(at, view.getInt32(at, true) - first, true);
  }
  const length = own.getInt32(offsets.length - OFFSET_BYTES, true);
  if (first < 0 || length < 0) throw corrupt('The offsets of a batch do not ascend.');
  cut(buffers, buffer, first, length);
  return counted;
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
