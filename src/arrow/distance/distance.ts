import { type Data, DataType, Precision, type Vector } from 'apache-arrow';
import { concatData } from '../concat.ts';
import { isNull, nullCountOf } from '../data.ts';
import { ArrowError } from '../arrow-error.ts';
import { halfToFloat } from '../half-float.ts';
import { typeName } from '../types.ts';

/**
 * How near vectors are. `l2` is the squared Euclidean distance, `cosine` 1
 * less the cosine, `dot` 1 less the product: the values that LanceDB answers.
 */
export type Metric = 'l2' | 'cosine' | 'dot';

type Numbers = Float32Array | Float64Array | Int8Array | Uint8Array;
/** Writes the distances of some rows, or of all if `rows` is null. The query is widened to doubles once, as sums are doubles. */
type Kernel = (
  query: Float64Array,
  values: Numbers,
  rows: Uint32Array | null,
  result: Float32Array,
) => void;

/**
 * The distance of `query` to some rows of a vector column (to all of them if
 * `rows` is null), in their order. NaN stands for a null vector, one with a
 * NaN or null in it, and for the cosine to or from a vector of zeros. Throws
 * `mismatch` if the column is no vector column or its vectors have another
 * length.
 */
export function distances(
  metric: Metric,
  query: Float32Array,
  column: Vector,
  rows: Uint32Array | null,
): Float32Array {
  const data = concatData(column.data);
  const size = vectorSize(data.type);
  if (size !== query.length) {
    const lengths = `${query.length} numbers, those of the column have ${size}`;
    throw new ArrowError('mismatch', `The query vector has ${lengths}.`);
  }
  const values = numbersOf(data.children[0]!);
  const result = new Float32Array(rows?.length ?? data.length);
  kernels[metric](new Float64Array(query), values, rows, result);
  blankNulls(data, size, rows, result);
  return result;
}

/** The length of a column's vectors; throws `mismatch` if the column has no vectors of a supported type. */
function vectorSize(type: DataType): number {
  if (DataType.isFixedSizeList(type)) {
    const item: DataType = type.valueType;
    const bytes = DataType.isInt(item) && item.bitWidth === 8;
    if (DataType.isFloat(item) || bytes) return type.listSize;
  }
  throw new ArrowError('mismatch', `A column of the type ${typeName(type)} holds no vectors.`);
}

function numbersOf(child: Data): Numbers {
  const half = DataType.isFloat(child.type) && child.type.precision === Precision.HALF;
  return half ? halfToFloat(child.values) : child.values;
}

// Each metric has its own loop, so that the compiler inlines it.
const kernels: Readonly<Record<Metric, Kernel>> = {
  l2: (query, values, rows, result) => {
    for (let index = 0; index < result.length; index++) {
      result[index] = squaredDistance(query, values, startOf(query, rows, index));
    }
  },
  dot: (query, values, rows, result) => {
    for (let index = 0; index < result.length; index++) {
      result[index] = 1 - dotProduct(query, values, startOf(query, rows, index));
    }
  },
  cosine: (query, values, rows, result) => {
    const norm = Math.sqrt(Math.fround(dotProduct(query, new Float32Array(query), 0)));
    for (let index = 0; index < result.length; index++) {
      const start = startOf(query, rows, index);
      // Sums that leave the range of a 32-bit float count as infinite, as they do in LanceDB.
      const length = norm * Math.sqrt(Math.fround(sumOfSquares(query.length, values, start)));
      result[index] = 1 - dotProduct(query, values, start) / length;
    }
  },
};

function startOf(query: Float64Array, rows: Uint32Array | null, index: number): number {
  return query.length * (rows === null ? index : rows[index]!);
}

// The loops use four sums: they are faster and have smaller rounding errors.
// They avoid array patterns, which the compiler does not always remove.

function squaredDistance(query: Float64Array, values: Numbers, start: number): number {
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  let at = 0;
  for (; at + 4 <= query.length; at += 4) {
    const w = query[at]! - values[start + at]!;
    const x = query[at + 1]! - values[start + at + 1]!;
    const y = query[at + 2]! - values[start + at + 2]!;
    const z = query[at + 3]! - values[start + at + 3]!;
    a += w * w;
    b += x * x;
    c += y * y;
    d += z * z;
  }
  for (; at < query.length; at++) a += (query[at]! - values[start + at]!) ** 2;
  return a + b + (c + d);
}

function dotProduct(query: Float64Array, values: Numbers, start: number): number {
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  let at = 0;
  for (; at + 4 <= query.length; at += 4) {
    a += query[at]! * values[start + at]!;
    b += query[at + 1]! * values[start + at + 1]!;
    c += query[at + 2]! * values[start + at + 2]!;
    d += query[at + 3]! * values[start + at + 3]!;
  }
  for (; at < query.length; at++) a += query[at]! * values[start + at]!;
  return a + b + (c + d);
}

function sumOfSquares(size: number, values: Numbers, start: number): number {
  let even = 0;
  let odd = 0;
  const end = start + size;
  let at = start;
  for (; at + 2 <= end; at += 2) {
    even += values[at]! * values[at]!;
    odd += values[at + 1]! * values[at + 1]!;
  }
  if (at < end) even += values[at]! * values[at]!;
  return even + odd;
}

function blankNulls(
  data: Data,
  size: number,
  rows: Uint32Array | null,
  result: Float32Array,
): void {
  const child = data.children[0]!;
  if (nullCountOf(data) === 0 && nullCountOf(child) === 0) return;
  for (let index = 0; index < result.length; index++) {
    const row = rows === null ? index : rows[index]!;
    if (isNull(data, row) || hasNull(child, row * size, size)) result[index] = Number.NaN;
  }
}

function hasNull(child: Data, start: number, size: number): boolean {
  if (nullCountOf(child) === 0) return false;
  for (let at = start; at < start + size; at++) if (isNull(child, at)) return true;
  return false;
}
