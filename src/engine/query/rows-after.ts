import type { RecordBatch } from 'apache-arrow';
import { execute } from './execute.ts';
import type { BatchSource } from './scan/batch-source.ts';
import { columnsRead } from './scan/projection.ts';
import { rowsOfFile } from './scan/pruning.ts';
import { coalesce } from './scan/rows.ts';
import type { Fragment } from '../format/snapshot.ts';
import type { ScanFile } from './scan/scan.ts';
import type { SentRows } from './plan/answer-body.ts';
import type { QueryPlan } from './plan/plan.ts';

/** How many rows the batches of a fragment have, including deleted rows; null if that is unknown. */
type BatchRows = (fragment: Fragment) => Promise<readonly number[] | null>;

/** The same by the sizes of stored batches. */
export function storedRows({ snapshot, projections }: QueryPlan, source: BatchSource): BatchRows {
  return async (fragment) => {
    const sizes = await source.sizes?.(snapshot, fragment, columnsRead(projections));
    return sizes?.map(({ rows }) => rows) ?? null;
  };
}

/**
 * The batches of an answer after those that were sent. Rows that are passed on are read from there;
 * for other queries the work is done again.
 */
export async function* rowsAfter(
  plan: QueryPlan,
  source: BatchSource,
  batchRows: BatchRows,
  sent: SentRows,
): AsyncGenerator<RecordBatch> {
  const rest = await restOf(plan, batchRows, sent.rows);
  if (rest !== null) {
    yield* coalesce(execute(rest, source));
    return;
  }
  let batches = 0;
  for await (const batch of coalesce(execute(plan, source)))
    if (batches++ >= sent.batches) yield batch;
}

/** The plan without rows that were sent; null if rows are not passed on in the order of the table. */
async function restOf(
  plan: QueryPlan,
  batchRows: BatchRows,
  rows: number,
): Promise<QueryPlan | null> {
  const { filter, nearest, text, sort, window } = plan;
  if (filter !== null || nearest !== null || text !== null || sort !== null) return null;
  const limit = window.limit === null ? null : window.limit - rows;
  let skip = window.offset + rows;
  const files = [...plan.files];
  for (let first = files[0]; first !== undefined; first = files[0]) {
    const count = rowsOfFile(first);
    if (count === null || count > skip) break;
    skip -= count;
    files.shift();
  }
  const [first] = files;
  if (first === undefined) return { ...plan, files, window: { offset: skip, limit } };
  const { file, skipped } = await fromBatch(first, batchRows, skip);
  return { ...plan, files: [file, ...files.slice(1)], window: { offset: skip - skipped, limit } };
}

/** A file from the batch on that holds a row, and the rows before that batch. */
async function fromBatch(
  file: ScanFile,
  batchRows: BatchRows,
  row: number,
): Promise<{ readonly file: ScanFile; readonly skipped: number }> {
  const whole = { file, skipped: 0 };
  const { fragment } = file;
  if (fragment.deletions !== null) return whole;
  const all = await batchRows(fragment);
  if (all === null) return whole;
  const { first, count } = file.batches ?? { first: 0, count: all.length };
  let skipped = 0;
  let index = first;
  while (index < first + count && skipped + (all[index] ?? 0) <= row) {
    skipped += all[index] ?? 0;
    index++;
  }
  const batches = { first: index, count: first + count - index };
  const { rows } = file;
  return { file: { ...file, batches, rows: rows && rows - skipped }, skipped };
}
