import type { RecordBatch } from 'apache-arrow';
import { concat } from '../../arrow/select.ts';

/** How batches are joined. */
export interface Joining {
  /** A batch of so many bytes, or so many rows, is taken as it is. */
  readonly largeBytes: number;
  readonly largeRows: number;
}

/** Joined batches have so many bytes or rows, or are made of so many. */
const JOINED_BYTES = 2 ** 20;
const JOINED_ROWS = 8192;
const JOINED_BATCHES = 1024;

/**
 * Joins small batches in their order: a batch costs the same to write and to
 * read again whether it has one row or ten thousand.
 */
export class SmallBatches {
  readonly #joining: Joining;
  #held: RecordBatch[] = [];
  #bytes = 0;
  #rows = 0;

  constructor(joining: Joining) {
    this.#joining = joining;
  }

  /** What is ready now that a batch has come. */
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

  /** What is left when no batch follows. */
  *rest(): Generator<RecordBatch> {
    const [first, ...others] = this.#held;
    if (first === undefined) return;
    const joined = others.length === 0 ? first : concat(this.#held);
    this.#held = [];
    this.#bytes = 0;
    this.#rows = 0;
    yield joined;
  }

  #isFull(): boolean {
    return (
      this.#bytes >= JOINED_BYTES ||
      this.#rows >= JOINED_ROWS ||
      this.#held.length >= JOINED_BATCHES
    );
  }
}

/** How many bytes the columns of a batch have in memory. */
export function batchBytes(batch: RecordBatch): number {
  return batch.data.children.reduce((sum, column) => sum + column.byteLength, 0);
}
