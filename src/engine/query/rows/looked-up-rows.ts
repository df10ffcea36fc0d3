import type { RecordBatch } from 'apache-arrow';
import type { CandidateBatch } from '../../index/keys/candidates.ts';
import type { ColumnNeed } from '../../request/computed-columns.ts';
import { rowsWhere } from '../../request/formula.ts';
import { andThen, inTurn, type MaybePromise } from '../../../protocol/maybe-promise.ts';
import type { QueryPlan } from '../plan/plan.ts';
import { countOf, listed, pick, stretch, WindowCutter } from '../scan/rows.ts';
import type { Scanner, ScanFile } from '../scan/scan.ts';

/** Up to this number, rows are read batch by batch with all columns. */
const FEW_ROWS = 64;

/** Rows of a batch found by indices. */
interface FoundBatch {
  readonly file: ScanFile;
  readonly batch: CandidateBatch;
  readonly exact: boolean;
}

/**
 * Rows of a query with a selective index, as `scanRows` finds them; null for other queries.
 * Read-ahead would cost more than the reads. Synchronous if all pages and columns are available.
 */
export function lookedUpRows(
  plan: QueryPlan,
  scanner: Scanner,
): MaybePromise<readonly RecordBatch[] | null> {
  if (!isLookUp(plan)) return null;
  return andThen(fewRows(plan, scanner), (found) => found && readRows(plan, scanner, found));
}

function readRows(
  plan: QueryPlan,
  scanner: Scanner,
  found: readonly FoundBatch[],
): MaybePromise<readonly RecordBatch[]> {
  const { filter } = plan;
  const cutter = new WindowCutter(plan.window);
  const need = found.every(({ exact }) => exact) ? plan.need : bothNeeds(plan);
  const retained: RecordBatch[] = [];
  const reading = inTurn(found, ({ file, batch, exact }) => {
    if (cutter.done) return false;
    return andThen(scanner.chosenBatch(file, batch, need, exact), ({ batch: read }) => {
      const all = read.numRows;
      const passing =
        exact || filter === null ? stretch(0, all) : listed(rowsWhere(filter, read), all);
      const rows = cutter.cut(passing);
      if (countOf(rows) > 0) retained.push(pick(read, rows));
      return true;
    });
  });
  return andThen(reading, () => retained);
}

/** Null if an index finds more, or none is worth it. */
function fewRows(plan: QueryPlan, scanner: Scanner): MaybePromise<readonly FoundBatch[] | null> {
  const found: FoundBatch[] = [];
  let rows: number | null = 0;
  const looking = inTurn(plan.files, (file) =>
    andThen(scanner.candidates(file), (candidates) => {
      rows = candidates === null ? null : (rows ?? 0) + candidates.count;
      if (candidates === null || candidates.count > FEW_ROWS) return false;
      const { exact } = candidates;
      for (const batch of candidates.batches) found.push({ file, batch, exact });
      return (rows ?? 0) <= FEW_ROWS;
    }),
  );
  return andThen(looking, () => (rows === null || rows > FEW_ROWS ? null : found));
}

function isLookUp({ filter, nearest, text, sort, files }: QueryPlan): boolean {
  const plain = nearest === null && text === null && sort === null;
  return filter !== null && plain && files.every(({ lookup }) => lookup?.narrow === true);
}

function bothNeeds({ need, filterNeed }: QueryPlan): ColumnNeed {
  return {
    stored: [...new Set([...filterNeed.stored, ...need.stored])],
    placed: [...new Set([...filterNeed.placed, ...need.placed])],
  };
}
