import { centreFloats, SCRATCH } from './code-layout.ts';
import type { LoadedCodes, LoadedPartition } from './code-search.ts';
import type { EncodedQuery } from './encoded-query.ts';
import { weightsOf } from './vector-encoder.ts';

/** Partitions of a file that are searched in any case: those with the nearest centres. */
export const LEAST_PROBES = 8;
/** Numbers of nearest rows for which the spread of a file is measured. */
export const NEAREST = [10, 100] as const;

/** What is known of the distances from a query to the rows of a partition. */
export interface PartitionView {
  /** Distance from the query to the centre, in the metric of the index. */
  readonly distance: number;
  /** Length of the query relative to the centre; for products of the query itself. */
  readonly length: number;
  /** Distances of the rows to the centre: one that few are below, and the greatest. */
  readonly inner: number;
  readonly radius: number;
}

/**
 * Least distance to expect of a partition's rows, if the cosine between them and the query, both
 * relative to the centre, is at most `spread`. From a spread of 1 on it is a bound.
 */
export function leastDistance(
  { distance, length, inner, radius }: PartitionView,
  { square, product }: { readonly square: number; readonly product: number },
  spread: number,
): number {
  if (square === 0) return distance - product * length * radius * spread;
  const nearest = Math.max(inner, Math.min(radius, length * spread));
  return distance + square * nearest * (nearest - 2 * length * spread);
}

/** Least spread with which a partition would be searched for rows below a distance. */
export function spreadFor(
  view: PartitionView,
  weights: { readonly square: number; readonly product: number },
  limit: number,
): number {
  let [low, high] = [0, 1];
  if (leastDistance(view, weights, low) <= limit) return low;
  for (let step = 0; step < 20; step++) {
    const middle = (low + high) / 2;
    if (leastDistance(view, weights, middle) <= limit) high = middle;
    else low = middle;
  }
  return high;
}

/** How promising the partitions of a file are, in their order. */
export interface PartitionOrder {
  /** Distances to their centres. */
  readonly distances: Float64Array;
  /** Least distances to expect of their rows; -Infinity for those that are searched in any case. */
  readonly least: Float64Array;
}

/**
 * Judges the partitions of a file.
 * @param keep Number of wanted rows.
 * @param widening Factor of the file's spread.
 */
export function partitionOrder(
  codes: LoadedCodes,
  query: EncodedQuery,
  keep: number,
  widening: number,
): PartitionOrder {
  const { directory, partitions, centres } = codes;
  const distances = new Float64Array(partitions.length);
  const least = new Float64Array(partitions.length).fill(-Infinity);
  if (centres === null || directory.partitions === undefined) return { distances, least };
  const spread = spreadOf(directory.partitions.spreads, keep) * widening;
  const weights = weightsOf(directory.distance);
  const squares = centreSquares(codes, query, centres);
  for (let at = 0; at < partitions.length; at++) {
    const partition = partitions[at]!;
    const view = viewOf(query, weights.square, partition, squares[at]!);
    const isEmpty = partition.portions.length === 0;
    distances[at] = isEmpty ? Infinity : view.distance;
    least[at] = isEmpty ? Infinity : leastDistance(view, weights, spread);
  }
  const always = nearCentres(distances);
  for (let at = 0; at < least.length; at++) if (distances[at]! <= always) least[at] = -Infinity;
  return { distances, least };
}

/** The distance up to which centres are near: that of the last of `LEAST_PROBES`. */
export function nearCentres(distances: Float64Array): number {
  if (distances.length < LEAST_PROBES) return Number.MAX_VALUE;
  const near = new Float64Array(LEAST_PROBES).fill(Infinity);
  for (let at = 0; at < distances.length; at++) {
    const distance = distances[at]!;
    let place = LEAST_PROBES - 1;
    if (distance >= near[place]!) continue;
    for (; place > 0 && near[place - 1]! > distance; place--) near[place] = near[place - 1]!;
    near[place] = distance;
  }
  return near[LEAST_PROBES - 1]!;
}

/** The spread for a number of rows, between the measured ones in proportion to its logarithm. */
function spreadOf([few = 1, many = 1]: readonly number[], keep: number): number {
  const part = Math.log10(keep / NEAREST[0]) / Math.log10(NEAREST[1] / NEAREST[0]);
  return few + (many - few) * Math.min(1, Math.max(0, part));
}

/**
 * What is known of a partition.
 * @param square Weight of squares in the metric.
 * @param squares Squared distance from the query to the centre.
 */
export function viewOf(
  query: EncodedQuery,
  square: number,
  { inner, radius, squared }: Pick<LoadedPartition, 'inner' | 'radius' | 'squared'>,
  squares: number,
): PartitionView {
  if (square > 0) return { distance: square * squares, length: Math.sqrt(squares), inner, radius };
  const product = (query.squared + squared - squares) / 2;
  const length = Math.sqrt(query.squared);
  return { distance: 1 - query.product - product, length, inner, radius };
}

/** Squared distances from the query to the centres; valid until the next call. */
function centreSquares(codes: LoadedCodes, { vector }: EncodedQuery, place: number): Float32Array {
  const { directory, memory, partitions } = codes;
  const { buffer, kernels } = memory;
  const floats = centreFloats(directory.shape);
  const point = new Float32Array(buffer, SCRATCH.rows, floats);
  point.fill(0, vector.length);
  point.set(vector);
  const count = 4 * Math.ceil(partitions.length / 4);
  kernels.squares(SCRATCH.rows, place, count, floats, SCRATCH.distances);
  return new Float32Array(buffer, SCRATCH.distances, partitions.length);
}
