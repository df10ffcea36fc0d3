import { DataType, Precision, type Data } from 'apache-arrow';
import { compareRangeValues, type RangeValue } from '../../../sql/compare/value-range.ts';
import { dataOf, nullCountOf } from '../../../arrow/data.ts';
import { MAX_BOUND_BYTES } from '../../../arrow/extremes-of-bytes.ts';

/** Texts in a directory are cut to this length, in bytes. */
const END_BYTES = MAX_BOUND_BYTES + 1;

/**
 * Cuts texts to the length of bounds (`extremesOf`) plus one byte, which tells that more follows.
 * The result may not be valid UTF-8.
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

/** Compares a key with a value: negative, 0 or positive. */
type Compare = (place: number, value: RangeValue) => number;

/**
 * Ranges of ordered keys that may hold one of some values, ascending; undefined if unknown.
 * @param ends First and last key of each range, whole or cut (see `shortEnds`).
 */
export function stretchesWith(
  ends: Data,
  values: readonly RangeValue[],
): readonly number[] | undefined {
  const compare = comparing(ends, END_BYTES);
  // Pages of NaN are not among the ordered ones.
  if (compare === undefined || values.some(Number.isNaN)) return undefined;
  const found = new Set<number>();
  for (const value of values) {
    // An even number of smaller ends: the value may begin a range. An odd number: it lies within
    // one.
    for (let at = firstOf(value, ends.length, compare) >> 1; 2 * at < ends.length; at++) {
      if (compare(2 * at, value) > 0) break;
      found.add(at);
    }
  }
  return found.size < 2 ? [...found] : [...found].sort((one, other) => one - other);
}

/**
 * Positions in a page of keys that may equal one of some values, ascending; undefined if unknown,
 * as for keys that are not values.
 */
export function placesOf(keys: Data, values: readonly RangeValue[]): Uint32Array | undefined {
  const compare = comparing(keys);
  if (compare === undefined) return undefined;
  const last = keys.length - 1;
  const found = new Set<number>();
  for (const value of values) {
    // NaN has no order, and a page holds only NaN or only values.
    if (typeof value === 'number' && Number.isNaN(value)) continue;
    if (compare(0, value) > 0 || compare(last, value) < 0) continue;
    for (let at = firstOf(value, keys.length, compare); at <= last; at++) {
      if (compare(at, value) !== 0) break;
      found.add(at);
    }
  }
  const places = Uint32Array.from(found);
  return places.length < 2 ? places : places.sort();
}

function firstOf(value: RangeValue, length: number, compare: Compare): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compare(middle, value) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Comparison of the keys of a page, which holds only values, only NaN or only nulls.
 * @param longest Number of bytes of a text that are compared.
 */
function comparing(keys: Data, longest = Infinity): Compare | undefined {
  const { type } = keys;
  if (keys.length === 0 || keys.nullCount > 0) return undefined;
  if (DataType.isUtf8(type) || DataType.isLargeUtf8(type)) return comparingTexts(keys, longest);
  const isHalf = DataType.isFloat(type) && type.precision === Precision.HALF;
  const isNumber = DataType.isInt(type) || DataType.isFloat(type) || DataType.isTimestamp(type);
  if (isHalf || !isNumber || Number.isNaN(keys.values[0])) return undefined;
  const numbers: ArrayLike<number | bigint> = keys.values;
  return (place, value) => compareRangeValues(numbers[place]!, value);
}

function comparingTexts({ values, valueOffsets }: Data, longest: number): Compare {
  const bytes: Uint8Array = values;
  return (place, value) => {
    const [start, end] = [Number(valueOffsets[place]), Number(valueOffsets[place + 1])];
    const key = bytes.subarray(start, Math.min(end, start + longest));
    const sought = value as Uint8Array;
    return Buffer.compare(key, sought.length > longest ? sought.subarray(0, longest) : sought);
  };
}
