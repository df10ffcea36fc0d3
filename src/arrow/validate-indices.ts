import type { Data } from 'apache-arrow';
import type { TypedArray } from './data.ts';
import { isNull, nullCountOf } from './data.ts';
import { corrupt } from './errors.ts';

/** Checks that the index of every row that is not null lies in the dictionary. Throws `corrupt`. */
export function checkIndices(data: Data, name: string): void {
  const indices: Exclude<TypedArray, BigInt64Array | BigUint64Array> = data.values;
  const size = data.dictionary?.length ?? 0;
  const nulls = nullCountOf(data) > 0;
  for (let row = 0; row < data.length; row++) {
    const index = indices[row]!;
    if ((index < 0 || index >= size) && !(nulls && isNull(data, row))) {
      const range = `${index}, the dictionary has ${size} values`;
      throw corrupt(`Row ${row} of column "${name}" has the dictionary index ${range}.`);
    }
  }
}
