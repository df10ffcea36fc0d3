import { NO_COLUMNS, needBeyond, type ColumnNeed } from '../../request/computed-columns.ts';
import { rowsWhere } from '../../request/formula.ts';
import { AHEAD, readAhead, type Meters } from '../scan/meters.ts';
import { Pace } from '../../base/pace.ts';
import type { QueryPlan } from '../plan/plan.ts';
import { countOf, listed, stretch, WindowCutter, type Rows } from '../scan/rows.ts';
import type { PlacedBatch, ScanFile, Scanner } from '../scan/scan.ts';
import type { RecordBatch } from 'apache-arrow';
import { workAhead } from '../../format/memory/read-memory.ts';

/** A scanned batch with the rows that pass the filter. */
interface SelectedRows {
  readonly found: PlacedBatch;
  readonly rows: Rows;
}

/** Columns read of every batch, and columns read of batches with passing rows only. */
interface ReadingOrder {
  readonly first: ColumnNeed;
  readonly late: ColumnNeed;
  /** Number of batches that late columns are read ahead. */
  readonly lateAhead: number;
}

/** With a filter its columns are read first: a batch without passing rows costs no more. */
export function readingOrder(plan: QueryPlan, need: ColumnNeed): ReadingOrder {
  if (plan.filter === null) return { first: need, late: NO_COLUMNS, lateAhead: 0 };
  const late = needBeyond(need, plan.filterNeed);
  return { first: plan.filterNeed, late, lateAhead: late.stored.length > 0 ? aheadOf(plan) : 0 };
}

/**
 * Scans the files of a plan and filters the rows. Batches without passing rows are skipped.
 * @param files The files in another order, or some of them; each is asked for when it is due.
 */
export async function* selectedRows(
  plan: QueryPlan,
  scanner: Scanner,
  first: ColumnNeed,
  meters: Meters,
  files: Iterable<ScanFile> = plan.files,
): AsyncGenerator<SelectedRows> {
  const pace = new Pace();
  const scanned = scanner.scan(files, first, aheadOf(plan));
  for await (const found of readsAll(plan) ? readAhead(scanned) : scanned) {
    const rows = meters.timed('filter', () => judge(plan, found));
    meters.passed('filter', { rowsIn: found.place.rows, rowsOut: countOf(rows), batches: 1 });
    if (countOf(rows) > 0) yield { found, rows };
    else found.release?.();
    await pace.turn();
  }
}

/** Whether every file is read to its end. */
function readsAll({ nearest, text, sort, window }: QueryPlan): boolean {
  return nearest !== null || text !== null || sort !== null || window.limit === null;
}

/**
 * Number of batches read ahead. Rows that are only passed on wait for the client, so memory is not
 * filled early.
 */
function aheadOf(plan: QueryPlan): number {
  const passesOn =
    plan.filter === null && plan.nearest === null && plan.text === null && plan.sort === null;
  return readsAll(plan) && !passesOn ? AHEAD : 0;
}

function judge({ filter }: QueryPlan, { batch, certain }: PlacedBatch): Rows {
  if (filter === null || certain === true) return stretch(0, batch.numRows);
  return listed(rowsWhere(filter, batch), batch.numRows);
}

/**
 * Rows of a query without search or sort, in table order. Reading stops at the last row of the
 * window.
 */
export async function* scanRows(
  plan: QueryPlan,
  scanner: Scanner,
  meters: Meters,
): AsyncGenerator<RecordBatch> {
  const { first, late, lateAhead } = picksFew(plan, scanner)
    ? { first: NO_COLUMNS, late: plan.need, lateAhead: 0 }
    : readingOrder(plan, plan.need);
  yield* workAhead(inWindow(plan, scanner, first, meters), lateAhead, ({ found, rows }) =>
    scanner.complete(found, late, rows),
  );
}

/** Rows of a window that are less than most batches have. */
const FEW_ROWS = 4096;

/** Whether the rows of the window are found without columns, and then read alone. */
function picksFew({ filter, window: { offset, limit } }: QueryPlan, { picks }: Scanner): boolean {
  return picks && filter === null && limit !== null && offset + limit <= FEW_ROWS;
}

async function* inWindow(
  plan: QueryPlan,
  scanner: Scanner,
  first: ColumnNeed,
  meters: Meters,
): AsyncGenerator<SelectedRows> {
  const cutter = new WindowCutter(plan.window);
  for await (const { found, rows } of selectedRows(plan, scanner, first, meters)) {
    const retained = cutter.cut(rows);
    meters.passed('window', { rowsIn: countOf(rows), rowsOut: countOf(retained), batches: 1 });
    if (countOf(retained) > 0) yield { found, rows: retained };
    if (cutter.done) return;
  }
}
