import { DataType, type Data } from 'apache-arrow';
import { dataOf, nullCountOf } from '../../arrow/data.ts';
import { MAX_BOUND_BYTES } from '../../arrow/extremes-of-bytes.ts';

/** Of a text in a directory no more is kept, or looked at. */
export const END_BYTES = MAX_BOUND_BYTES + 1;

/**
 * Texts cut to what their extremes are made of (`extremesOf`), whatever follows: one byte more
 * says that something does. What is left need not be a text.
 */
export function shortEnds(keys: Data): Data {
  const { type, length } = keys;
  const isText = DataType.isUtf8(type) || DataType.isLargeUtf8(type);
  if (!isText || nullCountOf(keys) > 0) return keys;
  const all: Uint8Array = keys.values;
  const pieces = Array.from({ length }, (_, row) => {
    const start = Number(keys.valueOffsets[row]);
    const end = Number(keys.valueOffsets[row + 1]);
    return all.subarray(start, Math.min(end, start + END_BYTES));
  });
  const values = Buffer.concat(pieces);
  const offsets = DataType.isUtf8(type)
    ? new Int32Array(length + 1)
    : new BigInt64Array(length + 1);
  let end = 0;
  for (const [row, piece] of pieces.entries()) {
    end += piece.length;
    offsets[row + 1] = DataType.isUtf8(type) ? end : BigInt(end);
  }
  return dataOf(type, { length, nullCount: 0, offsets, values });
}
