import type { RecordBatch } from 'apache-arrow';
import { SmallBatches } from '../table/small-batches.ts';

/** A batch of so many rows, or so many bytes, is worth sending by itself. */
const ENOUGH = { largeRows: 8192, largeBytes: 2 ** 20 };

/** Whether a batch is sent by itself. */
export function isLarge({
  rows,
  bytes,
}: {
  readonly rows: number;
  readonly bytes: number;
}): boolean {
  return rows >= ENOUGH.largeRows || bytes >= ENOUGH.largeBytes;
}

/** Merges small batches, so that a filter that keeps few rows of each does not answer with thousands of them. */
export async function* coalesce(batches: AsyncIterable<RecordBatch>): AsyncGenerator<RecordBatch> {
  const small = new SmallBatches(ENOUGH);
  for await (const batch of batches) yield* small.add(batch);
  yield* small.rest();
}
