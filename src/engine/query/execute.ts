import type { RecordBatch } from 'apache-arrow';
import type { BatchSource } from '../table/fragment-reader.ts';
import { lookedUpRows } from './looked-up-rows.ts';
import { noMeters, type Meters } from './meters.ts';
import type { QueryPlan } from './plan.ts';
import { project } from './projection.ts';
import { scanRows } from './scan-rows.ts';
import { Scanner } from './scan.ts';
import { searchRows } from './search-rows.ts';
import { sortRows } from './sort-rows.ts';
import { textRows } from '../text/text-rows.ts';

/**
 * Runs a plan. Batches come as they are found, each with the schema of the
 * answer; memory is bounded by the batch, and for a search by the rows it keeps.
 * @param meters Are told what each step does.
 * @throws CatalogError InvalidInput when an expression fails on a row.
 */
export async function* execute(
  plan: QueryPlan,
  source: BatchSource,
  meters: Meters = noMeters,
): AsyncGenerator<RecordBatch> {
  const scanner = new Scanner(source, plan.snapshot);
  const few = meters === noMeters ? await lookedUpRows(plan, scanner) : null;
  for await (const rows of few ?? rowsOf(plan, source, scanner, meters)) {
    const count = rows.numRows;
    meters.passed('project', { rowsIn: count, rowsOut: count, batches: 1 });
    yield meters.timed('project', () => project(plan.projections, plan.schema, rows));
  }
}

function rowsOf(
  plan: QueryPlan,
  source: BatchSource,
  scanner: Scanner,
  meters: Meters,
): AsyncGenerator<RecordBatch> {
  if (plan.text !== null) return textRows(plan, plan.text, source, scanner, meters);
  if (plan.nearest !== null) return searchRows(plan, plan.nearest, scanner, meters);
  if (plan.sort !== null) return sortRows(plan, plan.sort, scanner, meters);
  return scanRows(plan, scanner, meters);
}
