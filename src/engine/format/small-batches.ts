import type { RecordBatch } from 'apache-arrow';
import { concat } from '../../arrow/select.ts';

/** Thresholds for joining batches. */
interface Joining {
  /** A batch of at least this size, in bytes or rows, is not joined. */
  readonly largeBytes: number;
  readonly largeRows: number;
}

/** Limits of a joined batch in bytes, rows and parts. */
const JOINED_BYTES = 2 ** 20;
const JOINED_ROWS = 8192;
const JOINED_BATCHES = 1024;

/**
 * Joins small batches in order. Writing and reading a batch of one row costs as much as one of ten
 * thousand.
 */
export class SmallBatches {
  readonly #joining: Joining;
  #held: RecordBatch[] = [];
  #bytes = 0;
  #rows = 0;

  constructor(joining: Joining) {
    this.#joining = joining;
  }

  /** Whether no batch waits for others. */
  get isEmpty(): boolean {
    return this.#held.length === 0;
  }

  /** Adds a batch. Yields batches that are complete. */
  *add(batch: RecordBatch): Generator<RecordBatch> {
    const bytes = batchBytes(batch);
    const { largeBytes, largeRows } = this.#joining;
    if (bytes >= largeBytes || batch.numRows >= largeRows) {
      yield* this.rest();
      yield batch;
      return;
    }
    this.#held.push(batch);
    this.#bytes += bytes;
    this.#rows += batch.numRows;
    if (this.#isFull()) yield* this.rest();
  }

  /** Yields the remaining batch after the last one was added. */
  *rest(): Generator<RecordBatch> {
    // The parts are in no variable here: they would live for as long as the reader of the joined batch waits.
    if (this.#held.length > 0) yield this.#joined();
  }

  #joined(): RecordBatch {
    const joined = this.#held.length === 1 ? this.#held[0]! : concat(this.#held);
    this.#held = [];
    this.#bytes = 0;
    this.#rows = 0;
    return joined;
  }

  #isFull(): boolean {
    return (
      this.#bytes >= JOINED_BYTES ||
      this.#rows >= JOINED_ROWS ||
      this.#held.length >= JOINED_BATCHES
    );
  }
}

/** Bytes of a batch's columns in memory. */
export function batchBytes(batch: RecordBatch): number {
  return batch.data.children.reduce((sum, column) => sum + column.byteLength, 0);
}
