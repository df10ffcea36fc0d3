import type { RecordBatch } from 'apache-arrow';
import { take } from '../../arrow/select.ts';
import { batchBytes } from './small-batches.ts';

/** Rows side by side whose buffers are so small together are not copied: their memory holds little else. */
const FEW_BYTES = 2 ** 14;

/** Some rows that were read, and what gives their memory back. */
export interface ReadRows {
  readonly batch: RecordBatch;
  readonly release: () => void;
}

/**
 * Rows of a stretch that was read from its first row to its last.
 * @param stretch As they stand in their batch, ascending.
 */
export function pickedPart({ batch, release }: ReadRows, stretch: Uint32Array): RecordBatch {
  if (batch.numRows === stretch.length && batchBytes(batch) <= FEW_BYTES) return batch;
  const first = stretch[0]!;
  const part = take(
    batch,
    stretch.map((row) => row - first),
  );
  release();
  return part;
}
