import type { Data } from 'apache-arrow';
import { getBit } from './bitmap.ts';
import type { TypedArray } from './data.ts';
import { nullCountOf } from './data.ts';
import { corrupt } from './errors.ts';

/** Checks that the index of every row that is not null lies in the dictionary. Throws `corrupt`. */
export function checkIndices(data: Data, name: string): void {
  const { length, offset, nullBitmap } = data;
  const indices: Exclude<TypedArray, BigInt64Array | BigUint64Array> = data.values;
  const size = data.dictionary?.length ?? 0;
  const bits = nullCountOf(data) > 0 ? nullBitmap : undefined;
  for (let row = 0; row < length; row++) {
    const index = indices[row]!;
    if (index >= 0 && index < size) continue;
    // Without a bitmap every row of a column with nulls is null.
    if (bits !== undefined && (bits.length === 0 || !getBit(bits, offset + row))) continue;
    const range = `${index}, the dictionary has ${size} values`;
    throw corrupt(`Row ${row} of column "${name}" has the dictionary index ${range}.`);
  }
}
