import { DataType, Precision, type Data } from 'apache-arrow';
import { concatData } from '../../../arrow/concat.ts';
import { childData, isNull, nullCountOf } from '../../../arrow/data.ts';
import { halfToFloat } from '../../../arrow/half-float.ts';

type Numbers = Float32Array | Float64Array | Int8Array | Uint8Array;

/** Vectors of a column, stored contiguously. */
export interface VectorValues {
  readonly rows: number;
  readonly values: Numbers;
  /** Whether a row has a vector without null values. */
  readonly has: (row: number) => boolean;
}

/** The vectors of a column of fixed-size lists of floats or bytes. */
export function vectorValues(column: Data): VectorValues {
  const data = concatData([column]);
  const child = childData(data);
  const half = DataType.isFloat(child.type) && child.type.precision === Precision.HALF;
  const values: Numbers = half ? halfToFloat(child.values) : child.values;
  const size = DataType.isFixedSizeList(data.type) ? data.type.listSize : 0;
  const someNull = nullCountOf(data) > 0;
  const someItemNull = nullCountOf(child) > 0;
  const has = (row: number): boolean => {
    if (someNull && isNull(data, row)) return false;
    if (!someItemNull) return true;
    for (let at = row * size; at < (row + 1) * size; at++) if (isNull(child, at)) return false;
    return true;
  };
  return { rows: data.length, values, has };
}
