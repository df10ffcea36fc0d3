import { NO_COLUMNS, needBeyond, type ColumnNeed } from './computed-columns.ts';
import { rowsWhere } from './formula.ts';
import { Pace } from './pace.ts';
import type { QueryPlan } from './plan.ts';
import { AHEAD, readAhead } from './read-ahead.ts';
import { countOf, listed, stretch, type Rows } from './rows.ts';
import type { PlacedBatch, Scanner } from './scan.ts';

/** A batch that was scanned, and those of its rows that the filter kept. */
export interface SelectedRows {
  readonly found: PlacedBatch;
  readonly rows: Rows;
}

/** What is read of every batch, and what only of batches with rows that the filter kept. */
export interface ReadingOrder {
  readonly first: ColumnNeed;
  readonly late: ColumnNeed;
}

/** With a filter its columns come first: a batch of which it keeps nothing costs no more than them. */
export function readingOrder(plan: QueryPlan, need: ColumnNeed): ReadingOrder {
  if (plan.filter === null) return { first: need, late: NO_COLUMNS };
  return { first: plan.filterNeed, late: needBeyond(need, plan.filterNeed) };
}

/** Scans the files of a plan and judges the rows. Batches without a row to keep are passed over. */
export async function* selectedRows(
  plan: QueryPlan,
  scanner: Scanner,
  first: ColumnNeed,
): AsyncGenerator<SelectedRows> {
  const pace = new Pace();
  const ahead = aheadOf(plan);
  const scanned = scanner.scan(plan.files, first, ahead);
  for await (const found of ahead > 0 ? readAhead(scanned) : scanned) {
    const rows = judge(plan, found);
    if (countOf(rows) > 0) yield { found, rows };
    else found.release?.();
    await pace.turn();
  }
}

/** How many batches are read ahead: none where the last row wanted may be found before the end of the files. */
export function aheadOf({ nearest, sort, window }: QueryPlan): number {
  return nearest !== null || sort !== null || window.limit === null ? AHEAD : 0;
}

function judge({ filter }: QueryPlan, { batch }: PlacedBatch): Rows {
  if (filter === null) return stretch(0, batch.numRows);
  return listed(rowsWhere(filter, batch), batch.numRows);
}
