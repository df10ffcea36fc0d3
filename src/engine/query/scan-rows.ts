import type { RecordBatch } from 'apache-arrow';
import type { QueryPlan } from './plan.ts';
import { countOf } from './rows.ts';
import type { Scanner } from './scan.ts';
import { readingOrder, selectedRows } from './selected-rows.ts';
import { WindowCutter } from './window.ts';

/** The rows of a query without search or sort, in the order of the table. Reading stops with the last row wanted. */
export async function* scanRows(plan: QueryPlan, scanner: Scanner): AsyncGenerator<RecordBatch> {
  const { first, late } = readingOrder(plan, plan.need);
  const cutter = new WindowCutter(plan.window);
  for await (const { found, rows } of selectedRows(plan, scanner, first)) {
    const kept = cutter.cut(rows);
    if (countOf(kept) > 0) yield await scanner.complete(found, late, kept);
    if (cutter.done) return;
  }
}
