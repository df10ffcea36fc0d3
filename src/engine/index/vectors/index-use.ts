import type { ColumnPath } from '../../request/column-path.ts';
import type { NearestRequest } from '../../request/request.ts';
import type { SearchMetric } from '../../request/search-metric.ts';
import { indexFileOf } from '../keys/index-upkeep.ts';
import type { Fragment, Snapshot } from '../../format/snapshot.ts';
import { hasCodeKernels } from './code-kernels.ts';
import { isPlain } from './encoded-query.ts';
import { isVectorIndex, type VectorIndex } from './vector-kind.ts';

/** How a search uses an index. */
export interface IndexUse {
  readonly index: VectorIndex;
  /** Whether rows that it does not cover are left out. */
  readonly fast: boolean;
  /** How many errors as they are as a rule the estimates by one bit may have. */
  readonly errors: number;
  /** At least so many rows are compared by their own vectors. */
  readonly least: number;
}

/** Of evenly random vectors, the hardest there are, 97 of 100 of the nearest are found so. */
const ERRORS = 1;
/** Estimates of short vectors are rough. */
const SHORT = 32;
const ERRORS_OF_SHORT = 3;
/** Clients of LanceDB send this many probes when nobody has said how many. */
const USUAL_PROBES = 20;
const MOST_ERRORS = 5;
/** More rows than these are better found by comparing all. */
const MOST_KEPT = 10_000;

/**
 * The index over a column that a search may use: of several the newest by the distance that was
 * asked for, or the newest of all when none was. Undefined for none.
 */
export function indexFor(
  { index: { bypass }, metric }: Pick<NearestRequest, 'index' | 'metric'>,
  path: ColumnPath,
  { indices = [], schema, fieldIds }: Snapshot,
): VectorIndex | undefined {
  if (bypass || path.formula !== null) return undefined;
  const field = fieldIds[schema.fields.findIndex(({ name }) => name === path.column)];
  return indices
    .filter(isVectorIndex)
    .filter((index) => index.field === field && (metric ?? index.distance) === index.distance)
    .at(-1);
}

/** How a search uses an index; null when it compares every vector. */
export function indexUse(
  index: VectorIndex | undefined,
  { index: { probes, ef, refine, fast }, vectors }: NearestRequest,
  keep: number | null,
  metric: SearchMetric,
  { fragments }: Snapshot,
): IndexUse | null {
  if (index === undefined || keep === null || keep < 1 || keep > MOST_KEPT) return null;
  if (!hasCodeKernels() || !vectors.every((vector) => isPlain(vector, metric))) return null;
  if (!fast && !fragments.some((fragment) => isCovered(fragment, index))) return null;
  const size = vectors[0]?.length ?? 0;
  const usual = metric !== 'hamming' && size < SHORT ? ERRORS_OF_SHORT : ERRORS;
  const more = Math.log2(Math.max(1, (probes ?? USUAL_PROBES) / USUAL_PROBES)) / 2;
  const least = Math.max(keep, ef ?? 0, keep * (refine ?? 1));
  return {
    index,
    fast,
    errors: Math.min(MOST_ERRORS, usual + more),
    least: Math.min(least, MOST_KEPT),
  };
}

/** Whether an index covers the rows of a fragment. */
export function isCovered(fragment: Fragment, index: VectorIndex): boolean {
  return indexFileOf(fragment, index) !== undefined;
}
