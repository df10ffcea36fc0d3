import type { RecordBatch } from 'apache-arrow';
import { concat } from '../../arrow/select.ts';

/** A batch of so many rows, or so many bytes, is worth sending by itself. */
const ENOUGH_ROWS = 8192;
const ENOUGH_BYTES = 2 ** 20;

/** Merges small batches, so that a filter that keeps few rows of each does not answer with thousands of them. */
export async function* coalesce(batches: AsyncIterable<RecordBatch>): AsyncGenerator<RecordBatch> {
  let held: RecordBatch[] = [];
  let size = { rows: 0, bytes: 0 };
  for await (const batch of batches) {
    const own = { rows: batch.numRows, bytes: bytesOf(batch) };
    // A batch that is large by itself is not copied only to take small ones along.
    if (isEnough(own) && held.length > 0) {
      yield merged(held);
      [held, size] = [[], { rows: 0, bytes: 0 }];
    }
    held.push(batch);
    size = { rows: size.rows + own.rows, bytes: size.bytes + own.bytes };
    if (!isEnough(size)) continue;
    yield merged(held);
    [held, size] = [[], { rows: 0, bytes: 0 }];
  }
  if (held.length > 0) yield merged(held);
}

interface Size {
  readonly rows: number;
  readonly bytes: number;
}

function isEnough({ rows, bytes }: Size): boolean {
  return rows >= ENOUGH_ROWS || bytes >= ENOUGH_BYTES;
}

function merged(held: readonly RecordBatch[]): RecordBatch {
  return held.length === 1 ? held[0]! : concat(held);
}

function bytesOf(batch: RecordBatch): number {
  return batch.data.children.reduce((sum, column) => sum + column.byteLength, 0);
}
