import type { Fragment, Snapshot } from '../../format/snapshot.ts';
import { placeIn, rowsWithout } from './row-set.ts';

/** Rows of a fragment's batch, without deleted ones. */
export interface CandidateBatch {
  /** Position of the batch in its file. */
  readonly index: number;
  /** Position in the file of the batch's first physical row. */
  readonly start: number;
  /** Positions of the rows in the batch, ascending; deleted rows count. */
  readonly rows: Uint32Array;
  /** Number of rows of the fragment before the batch, without deleted ones. */
  readonly before: number;
  /** Number of rows of the batch before each of the rows, without deleted ones. */
  readonly ranks: Uint32Array;
}

/** The rows of a fragment that an index found. */
export interface Candidates {
  /** Whether the predicate is known to be true of each row. */
  readonly exact: boolean;
  readonly count: number;
  readonly batches: readonly CandidateBatch[];
}

/** Facts of a fragment's rows. */
export interface RowFacts {
  /** The deleted rows, ascending. */
  deletions(snapshot: Snapshot, fragment: Fragment): Promise<Uint32Array>;
  /** The first row of each batch. */
  starts(snapshot: Snapshot, fragment: Fragment): Promise<readonly number[]>;
}

/**
 * Groups rows of a fragment by batch, without deleted ones.
 * @param rows Positions in the file, ascending; the deleted rows likewise.
 * @param starts First row of each batch.
 */
export function candidatesOf(
  rows: Uint32Array,
  exact: boolean,
  deleted: Uint32Array,
  starts: readonly number[],
): Candidates {
  const left = rowsWithout(rows, deleted);
  const batches: CandidateBatch[] = [];
  for (let at = 0; at < left.length;) {
    const index = placeIn(starts, left[at]! + 1) - 1;
    const start = starts[index]!;
    const end = placeIn(left, starts[index + 1] ?? Infinity);
    const deletedBefore = placeIn(deleted, start);
    const own = left.subarray(at, end);
    batches.push({
      index,
      start,
      rows: own.map((row) => row - start),
      before: start - deletedBefore,
      ranks: own.map((row) => row - start - (placeIn(deleted, row) - deletedBefore)),
    });
    at = end;
  }
  return { exact, count: left.length, batches };
}
