import type { RecordBatch } from 'apache-arrow';
import { workAhead } from '../table/work-ahead.ts';
import type { ColumnNeed } from './computed-columns.ts';
import type { Meters } from './meters.ts';
import type { QueryPlan } from './plan.ts';
import { countOf } from './rows.ts';
import type { Scanner } from './scan.ts';
import { readingOrder, selectedRows, type SelectedRows } from './selected-rows.ts';
import { WindowCutter } from './window.ts';

/** The rows of a query without search or sort, in the order of the table. Reading stops with the last row wanted. */
export async function* scanRows(
  plan: QueryPlan,
  scanner: Scanner,
  meters: Meters,
): AsyncGenerator<RecordBatch> {
  const { first, late, lateAhead } = readingOrder(plan, plan.need);
  yield* workAhead(inWindow(plan, scanner, first, meters), lateAhead, ({ found, rows }) =>
    scanner.complete(found, late, rows),
  );
}

async function* inWindow(
  plan: QueryPlan,
  scanner: Scanner,
  first: ColumnNeed,
  meters: Meters,
): AsyncGenerator<SelectedRows> {
  const cutter = new WindowCutter(plan.window);
  for await (const { found, rows } of selectedRows(plan, scanner, first, meters)) {
    const kept = cutter.cut(rows);
    meters.passed('window', { rowsIn: countOf(rows), rowsOut: countOf(kept), batches: 1 });
    if (countOf(kept) > 0) yield { found, rows: kept };
    if (cutter.done) return;
  }
}
