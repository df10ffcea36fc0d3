import { DataType, Precision, type Data } from 'apache-arrow';
import { compareRangeValues, type RangeValue } from '../../../sql/compare/value-range.ts';
import { dataOf, nullCountOf } from '../../../arrow/data.ts';
import { MAX_BOUND_BYTES } from '../../../arrow/extremes-of-bytes.ts';

/** Of a text in a directory no more is kept, or looked at. */
const END_BYTES = MAX_BOUND_BYTES + 1;

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

/** Less than, equal to or greater than 0, as a key is to a value. */
type Compare = (place: number, value: RangeValue) => number;

/**
 * Which of some stretches of ordered keys may have one of some values, ascending; undefined
 * where that is not told.
 * @param ends The first and the last key of each stretch, whole or cut (see `shortEnds`).
 */
export function stretchesWith(
  ends: Data,
  values: readonly RangeValue[],
): readonly number[] | undefined {
  const compare = comparing(ends, END_BYTES);
  // Those that are NaN stand elsewhere.
  if (compare === undefined || values.some(Number.isNaN)) return undefined;
  const found = new Set<number>();
  for (const value of values) {
    // Behind an even number of ends that are less begins a stretch, behind an odd one it continues.
    for (let at = firstOf(value, ends.length, compare) >> 1; 2 * at < ends.length; at++) {
      if (compare(2 * at, value) > 0) break;
      found.add(at);
    }
  }
  return [...found].sort((one, other) => one - other);
}

/**
 * Where in a page of ordered keys those stand that may equal one of some values, ascending;
 * undefined where that is not told, as of keys that are not values at all.
 */
export function placesOf(keys: Data, values: readonly RangeValue[]): Uint32Array | undefined {
  const compare = comparing(keys);
  if (compare === undefined) return undefined;
  const last = keys.length - 1;
  const found = new Set<number>();
  for (const value of values) {
    // It has no order among others, and a page has either.
    if (typeof value === 'number' && Number.isNaN(value)) continue;
    if (compare(0, value) > 0 || compare(last, value) < 0) continue;
    for (let at = firstOf(value, keys.length, compare); at <= last; at++) {
      if (compare(at, value) !== 0) break;
      found.add(at);
    }
  }
  return Uint32Array.from(found).sort();
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
 * A page holds only values, only NaN or only nulls.
 * @param longest So many bytes of texts are compared.
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
    const asked = value as Uint8Array;
    return Buffer.compare(key, asked.length > longest ? asked.subarray(0, longest) : asked);
  };
}
