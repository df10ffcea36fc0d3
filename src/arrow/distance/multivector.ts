import { DataType, Vector, type Data } from 'apache-arrow';
import { concatData } from '../concat.ts';
import { isNull } from '../data.ts';
import { distances, type Metric } from './distance.ts';

/** Whether a column holds several vectors a row, as late-interaction models make them. */
export function holdsMultivectors(type: DataType): boolean {
  return DataType.isList(type) && DataType.isFixedSizeList(type.valueType);
}

/**
 * The distance of some query vectors to some rows of a column with several vectors a row, as
 * LanceDB has it: 1 less the sum over the query vectors of the greatest similarity of a vector of
 * the row, where a similarity is 1 less the distance of two vectors. NaN stands for a row that is
 * null or empty, and for one with a NaN in a vector. Null vectors, and for the cosine vectors of
 * zeros, are left out.
 * @param queries All query vectors, one after the other.
 * @param rows The rows to look at; null for all.
 * @throws ArrowError as `distances` does.
 */
export function multivectorDistances(
  metric: Metric,
  queries: Float32Array,
  column: Vector,
  rows: Uint32Array | null,
): Float32Array {
  const data = concatData(column.data);
  const child = data.children[0]!;
  const vectors = new Vector([child]);
  const size = sizeOf(child.type);
  const result = new Float32Array(rows?.length ?? data.length).fill(1);
  for (let start = 0; start < queries.length; start += size) {
    const query = queries.subarray(start, start + size);
    const of =
      rows === null ? allOf(metric, query, vectors, child) : someOf(metric, query, vectors);
    for (let at = 0; at < result.length; at++) {
      const row = rows === null ? at : rows[at]!;
      result[at] = Math.fround(result[at]! - greatest(data, row, of));
    }
  }
  return result;
}

/** The length of the vectors of a column. */
function sizeOf(type: DataType): number {
  return DataType.isFixedSizeList(type) ? type.listSize : 0;
}

/** The distances of the vectors from one to another; NaN for a vector that is left out. */
type DistancesOf = (start: number, end: number) => Float32Array;

/** Computes the distances of all vectors at once. */
function allOf(metric: Metric, query: Float32Array, vectors: Vector, child: Data): DistancesOf {
  const all = distances(metric, query, vectors, null);
  markNaNs(all, child, 0);
  return (start, end) => all.subarray(start, end);
}

/** Computes the distances of the vectors of one row at a time. */
function someOf(metric: Metric, query: Float32Array, vectors: Vector): DistancesOf {
  return (start, end) => {
    const chosen = Uint32Array.from({ length: end - start }, (_, at) => start + at);
    const found = distances(metric, query, vectors, chosen);
    markNaNs(found, concatData(vectors.data), start);
    return found;
  };
}

/** Vectors that hold a NaN get a distance of minus infinity: a row with one has no distance. */
function markNaNs(found: Float32Array, child: Data, first: number): void {
  const listSize = sizeOf(child.type);
  const { values } = child.children[0]! as { readonly values: ArrayLike<number> };
  for (let at = 0; at < found.length; at++) {
    if (!Number.isNaN(found[at]!) || isNull(child, first + at)) continue;
    for (let item = 0; item < listSize; item++) {
      if (Number.isNaN(values[(first + at) * listSize + item]!)) found[at] = -Infinity;
    }
  }
}

/** The greatest similarity of a vector of a row; NaN where the row has no distance. */
function greatest(data: Data, row: number, of: DistancesOf): number {
  if (isNull(data, row)) return NaN;
  const [start, end] = [data.valueOffsets[row]!, data.valueOffsets[row + 1]!];
  let most = -Infinity;
  for (const distance of of(start, end)) {
    if (distance === -Infinity) return NaN;
    if (1 - distance > most) most = Math.fround(1 - distance);
  }
  return most === -Infinity ? NaN : most;
}
