import { DataType, type Vector } from 'apache-arrow';
import { concatData } from '../concat.ts';
import { isMarkedNull, nullCountOf } from '../data.ts';
import { ArrowError } from '../arrow-error.ts';
import { typeName } from '../types.ts';

const ones = Uint8Array.from({ length: 256 }, (_, byte) => {
  let count = 0;
  for (let rest = byte; rest > 0; rest >>= 1) count += rest & 1;
  return count;
});

/** Whether a column of a type holds vectors of unsigned bytes, which have Hamming distances. */
export function holdsBytes(type: DataType): boolean {
  if (!DataType.isFixedSizeList(type)) return false;
  const item: DataType = type.valueType;
  return DataType.isInt(item) && item.bitWidth === 8 && !item.isSigned;
}

/**
 * In how many bits `query` differs from some rows of a column of vectors of
 * unsigned bytes (from all of them if `rows` is null), in their order. NaN
 * stands for a null vector and for one with a null in it. Throws `mismatch` if
 * the column holds others, or vectors of another length.
 */
export function hammingDistances(
  query: Uint8Array,
  column: Vector,
  rows: Uint32Array | null,
): Float32Array {
  const data = concatData(column.data);
  const size = DataType.isFixedSizeList(data.type) ? data.type.listSize : 0;
  if (!holdsBytes(data.type) || size !== query.length) {
    const found = `A column of the type ${typeName(data.type)} holds no vectors`;
    throw new ArrowError('mismatch', `${found} of ${query.length} unsigned bytes.`);
  }
  const child = data.children[0]!;
  const values = child.values as Uint8Array;
  const someNull = nullCountOf(data) > 0;
  const someItemNull = nullCountOf(child) > 0;
  const result = new Float32Array(rows?.length ?? data.length);
  for (let index = 0; index < result.length; index++) {
    const row = rows === null ? index : rows[index]!;
    let sum = someNull && isMarkedNull(data, row) ? Number.NaN : 0;
    for (let at = 0; at < size; at++) {
      const place = row * size + at;
      if (someItemNull && isMarkedNull(child, place)) sum = Number.NaN;
      sum += ones[values[place]! ^ query[at]!]!;
    }
    result[index] = sum;
  }
  return result;
}
