import type { ColumnPath } from '../../request/column-path.ts';
import type { NearestRequest } from '../../request/request.ts';
import type { SearchMetric } from '../../request/search-metric.ts';
import { indexFileOf } from '../keys/index-upkeep.ts';
import type { Fragment, Snapshot } from '../../format/snapshot.ts';
import { hasCodeKernels } from './code-kernels.ts';
import { isPlain } from './encoded-query.ts';
import { isVectorIndex, type VectorIndex } from './vector-kind.ts';

/** Index parameters of a search. */
export interface IndexUse {
  readonly index: VectorIndex;
  /** Whether rows without codes are left out. */
  readonly fast: boolean;
  /** Tolerated deviation of 1-bit estimates, in standard errors. */
  readonly errors: number;
  readonly probes: ProbeBounds;
  /** Least number of rows that are compared by their own vectors. */
  readonly least: number;
}

/** Which partitions are searched, in the order of the least distances to expect of them. */
export interface ProbeBounds {
  /** Partitions that are searched in any case. */
  readonly least: number;
  readonly most: number;
  /** Factor of the spread by which the others are judged (`leastDistance`). */
  readonly widening: number;
}

/** Measured on uniformly random vectors, the hardest case: recall 0.97. */
const ERRORS = 1.25;
/** Below this length, estimates are inaccurate. */
const SHORT = 32;
const ERRORS_OF_SHORT = 3;
/** Number of probes that LanceDB clients send by default. */
const USUAL_PROBES = 20;
const MOST_ERRORS = 5;
/** A search that keeps more rows compares all vectors. */
const MOST_KEPT = 10_000;

/**
 * The index of a column for a search: the newest with the requested distance, or the newest of all
 * if none was requested; undefined for none.
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

/** Index parameters of a search; null if it compares all vectors. */
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
  const asked = probes ?? USUAL_PROBES;
  const more = Math.log2(Math.max(1, asked / USUAL_PROBES)) / 2;
  const least = Math.max(keep, ef ?? 0, keep * (refine ?? 1));
  return {
    index,
    fast,
    errors: Math.min(MOST_ERRORS, usual + more),
    probes: {
      least: asked > USUAL_PROBES ? asked : 0,
      most: asked < USUAL_PROBES ? Math.max(1, asked) : Infinity,
      widening: 1 + Math.min(MOST_ERRORS, more) / 2,
    },
    least: Math.min(least, MOST_KEPT),
  };
}

/** Whether an index covers a fragment. */
export function isCovered(fragment: Fragment, index: VectorIndex): boolean {
  return indexFileOf(fragment, index) !== undefined;
}
