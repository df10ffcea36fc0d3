import { type Data, type Dictionary, Vector } from 'apache-arrow';
import { sliceBits } from './bitmap.ts';
import { dataOf, isNull, nullCountOf, type TypedArray } from './data.ts';
import { ArrowError } from './errors.ts';
import { indexCapacity } from './growing-dictionary.ts';
import { rowKey } from './row-key.ts';
import { takeData } from './take.ts';

/**
 * A column of plain values as a dictionary column, whose dictionary holds each value
 * once. Throws `limit` if the index type cannot count them all.
 */
export function encodeDictionary(data: Data, type: Dictionary): Data {
  const { length } = data;
  const places = new Map<string, number>();
  const firsts: number[] = [];
  const { ArrayType } = type.indices;
  const values: TypedArray = new ArrayType(length);
  for (let row = 0; row < length; row++) {
    if (isNull(data, row)) continue;
    const key = rowKey(data, row);
    const place = places.get(key) ?? places.size;
    if (place === places.size) {
      places.set(key, place);
      firsts.push(row);
    }
    values[row] = place;
  }
  if (places.size > indexCapacity(type)) {
    throw new ArrowError('limit', `A dictionary would have ${places.size} values, too many.`);
  }
  const dictionary = new Vector([takeData(data, Uint32Array.from(firsts))]);
  const nullCount = nullCountOf(data);
  const validity = nullCount > 0 ? sliceBits(data.nullBitmap, data.offset, length) : undefined;
  return dataOf(type, { length, nullCount, values, dictionary, validity });
}
