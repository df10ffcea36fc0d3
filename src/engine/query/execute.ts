import type { RecordBatch } from 'apache-arrow';
import type { BatchSource } from '../table/fragment-reader.ts';
import type { QueryPlan } from './plan.ts';
import { project } from './projection.ts';
import { scanRows } from './scan-rows.ts';
import { Scanner } from './scan.ts';
import { searchRows } from './search-rows.ts';
import { sortRows } from './sort-rows.ts';

/**
 * Runs a plan. Batches come as they are found, each with the schema of the
 * answer; memory is bounded by the batch, and for a search by the rows it keeps.
 * @throws CatalogError InvalidInput when an expression fails on a row.
 */
export async function* execute(plan: QueryPlan, source: BatchSource): AsyncGenerator<RecordBatch> {
  for await (const batch of rowsOf(plan, new Scanner(source, plan.snapshot))) {
    yield project(plan.projections, plan.schema, batch);
  }
}

function rowsOf(plan: QueryPlan, scanner: Scanner): AsyncGenerator<RecordBatch> {
  if (plan.nearest !== null) return searchRows(plan, plan.nearest, scanner);
  if (plan.sort !== null) return sortRows(plan, plan.sort, scanner);
  return scanRows(plan, scanner);
}
