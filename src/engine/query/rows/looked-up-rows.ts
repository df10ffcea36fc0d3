import type { RecordBatch } from 'apache-arrow';
import type { CandidateBatch } from '../../index/keys/candidates.ts';
import type { ColumnNeed } from '../../request/computed-columns.ts';
import { rowsWhere } from '../../request/formula.ts';
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
 * Read-ahead would cost more than the reads.
 */
export async function lookedUpRows(
  plan: QueryPlan,
  scanner: Scanner,
): Promise<readonly RecordBatch[] | null> {
  const found = await fewRows(plan, scanner);
  if (found === null) return null;
  const cutter = new WindowCutter(plan.window);
  const need = found.every(({ exact }) => exact) ? plan.need : bothNeeds(plan);
  const retained: RecordBatch[] = [];
  for (const { file, batch, exact } of found) {
    if (cutter.done) break;
    const { batch: read } = await scanner.chosenBatch(file, batch, need, exact);
    const all = read.numRows;
    const { filter } = plan;
    const passing =
      exact || filter === null ? stretch(0, all) : listed(rowsWhere(filter, read), all);
    const rows = cutter.cut(passing);
    if (countOf(rows) > 0) retained.push(pick(read, rows));
  }
  return retained;
}

async function fewRows(plan: QueryPlan, scanner: Scanner): Promise<readonly FoundBatch[] | null> {
  if (!isLookUp(plan)) return null;
  const found: FoundBatch[] = [];
  let rows = 0;
  for (const file of plan.files) {
    const candidates = await scanner.candidates(file);
    if (candidates === null) return null;
    rows += candidates.count;
    if (rows > FEW_ROWS) return null;
    const { exact } = candidates;
    for (const batch of candidates.batches) found.push({ file, batch, exact });
  }
  return found;
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
