import type { Fragment, Snapshot } from '../../format/snapshot.ts';
import { placeIn, rowsWithout } from './row-set.ts';

/** Some rows of a batch of a fragment, none of them deleted. */
export interface CandidateBatch {
  /** Position of the batch in its file. */
  readonly index: number;
  /** Position in the file of the batch's first physical row. */
  readonly start: number;
  /** The rows as they stand in the batch, deleted ones counted; ascending. */
  readonly rows: Uint32Array;
  /** How many rows of the fragment, deleted ones left out, lie before the batch. */
  readonly before: number;
  /** How many rows of the batch, deleted ones left out, lie before each of the rows. */
  readonly ranks: Uint32Array;
}

/** The rows of a fragment that an index has found. */
export interface Candidates {
  /** Whether the predicate is known to be true of each. */
  readonly exact: boolean;
  readonly count: number;
  readonly batches: readonly CandidateBatch[];
}

/** What is known of a fragment's rows. */
export interface RowFacts {
  /** The deleted rows, ascending. */
  deletions(snapshot: Snapshot, fragment: Fragment): Promise<Uint32Array>;
  /** The first row of each batch. */
  starts(snapshot: Snapshot, fragment: Fragment): Promise<readonly number[]>;
}

/**
 * Rows of a fragment batch by batch, without deleted ones.
 * @param rows Positions in the file, ascending, as are the deleted rows.
 * @param starts The first row of each batch.
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
    const gone = placeIn(deleted, start);
    const own = left.subarray(at, end);
    batches.push({
      index,
      start,
      rows: own.map((row) => row - start),
      before: start - gone,
      ranks: own.map((row) => row - start - (placeIn(deleted, row) - gone)),
    });
    at = end;
  }
  return { exact, count: left.length, batches };
}
