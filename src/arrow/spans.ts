import { DataType, type Data } from 'apache-arrow';
import { wordsOf } from './data.ts';

/** Positions of the values of a column: row `i` from `starts[i]` up to `ends[i]`. */
export interface Spans {
  readonly starts: Uint32Array | Int32Array;
  readonly ends: Uint32Array | Int32Array;
}

/** Positions of the values of a column of bytes, lists or maps that has offsets or a fixed size. */
export function spansOf({ type, length, valueOffsets }: Data): Spans {
  if (DataType.isFixedSizeBinary(type)) return evenSpans(length, type.byteWidth);
  if (DataType.isFixedSizeList(type)) return evenSpans(length, type.listSize);
  const offsets = narrowOffsets(valueOffsets as Int32Array | BigInt64Array);
  return { starts: offsets.subarray(0, length), ends: offsets.subarray(1, length + 1) };
}

/** The low words of 64-bit offsets suffice: one column holds less than 4 GiB. */
function narrowOffsets(offsets: Int32Array | BigInt64Array): Uint32Array | Int32Array {
  if (offsets instanceof Int32Array) return offsets;
  const words = wordsOf(offsets);
  const narrow = new Uint32Array(offsets.length);
  for (let index = 0; index < narrow.length; index++) narrow[index] = words[2 * index]!;
  return narrow;
}

function evenSpans(length: number, width: number): Spans {
  const bounds = new Uint32Array(length + 1);
  for (let row = 0; row <= length; row++) bounds[row] = row * width;
  return { starts: bounds.subarray(0, length), ends: bounds.subarray(1) };
}

/** Start of the value of a row. */
export function startAt({ starts }: Spans, row: number): number {
  return starts[row]!;
}

/** End of the value of a row. */
export function endAt({ ends }: Spans, row: number): number {
  return ends[row]!;
}

/** Bytes or items of the value of a row. */
export function sizeAt({ starts, ends }: Spans, row: number): number {
  return ends[row]! - starts[row]!;
}

/** The first of `length` places at which two runs of bytes differ; `length` if they are equal. */
export function firstDifference(
  left: Uint8Array,
  from: number,
  right: Uint8Array,
  to: number,
  length: number,
): number {
  let at = 0;
  while (at < length && left[from + at] === right[to + at]) at++;
  return at;
}

/** Compares two runs of bytes: negative, 0 or positive. A prefix is less. */
export function compareRuns(
  left: Uint8Array,
  from: number,
  end: number,
  right: Uint8Array,
  to: number,
  otherEnd: number,
): number {
  const shared = Math.min(end - from, otherEnd - to);
  for (let at = 0; at < shared; at++) {
    const difference = left[from + at]! - right[to + at]!;
    if (difference !== 0) return difference;
  }
  return end - from - (otherEnd - to);
}
