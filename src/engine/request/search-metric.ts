import type { Vector } from 'apache-arrow';
import type { Metric } from '../../arrow/distance/distance.ts';
import { hammingDistances, holdsBytes } from '../../arrow/distance/hamming.ts';
import { holdsMultivectors, multivectorDistances } from '../../arrow/distance/multivector.ts';
import { offerNearer, type NearestSink } from '../../arrow/distance/nearer.ts';
import { typeName } from '../../arrow/types.ts';
import { CatalogError } from '../../protocol/errors.ts';
import type { ColumnPath } from './column-path.ts';

/** Distance of a search. */
export type SearchMetric = Metric | 'hamming';

export const searchMetrics: readonly SearchMetric[] = ['l2', 'cosine', 'dot', 'hamming'];

/**
 * The metric of a search over a column: as LanceDB, by the bits of unsigned
 * bytes and else by `l2` when nothing is asked for.
 * @throws CatalogError InvalidInput for a column or a query vector without such distances.
 */
export function metricFor(
  requested: SearchMetric | null,
  { text, field }: ColumnPath,
  vectors: readonly Float32Array[],
): SearchMetric {
  const bytes = holdsBytes(field.type);
  const metric = requested ?? (bytes ? 'hamming' : 'l2');
  if (metric !== 'hamming') return metric;
  if (!bytes) {
    throw new CatalogError(
      'InvalidInput',
      `the distance hamming is one of vectors of uint8, the type of ${JSON.stringify(text)} is ${typeName(field.type)}`,
    );
  }
  for (const vector of vectors) checkBytes(vector);
  return metric;
}

function checkBytes(vector: Float32Array): void {
  const wrong = vector.find((value) => !(Number.isInteger(value) && value >= 0 && value <= 255));
  if (wrong === undefined) return;
  throw new CatalogError(
    'InvalidInput',
    `a vector compared by hamming must have whole numbers from 0 to 255, not ${wrong}`,
  );
}

/**
 * Offers rows of a column with their distances to a query vector.
 * @param rows Rows to compare; all if null.
 * @param query All query vectors in sequence for a column of several vectors per row.
 */
export function offerNear(
  metric: SearchMetric,
  query: Float32Array,
  column: Vector,
  rows: Uint32Array | null,
  sink: NearestSink,
): void {
  if (metric !== 'hamming') {
    if (!holdsMultivectors(column.type)) return offerNearer(metric, query, column, rows, sink);
    return sink.offer(multivectorDistances(metric, query, column, rows), rows);
  }
  sink.offer(hammingDistances(Uint8Array.from(query), column, rows), rows);
}
