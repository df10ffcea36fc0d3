import type { RecordBatch } from 'apache-arrow';
import type { RowRange } from '../../../arrow/ipc/row-range.ts';
import type { CandidateBatch, Candidates } from '../../index/keys/candidates.ts';
import type { FragmentLookup } from '../../index/keys/lookup.ts';
import type { VectorSource } from '../../index/vectors/code-store.ts';
import type { RowIds } from './live-rows.ts';
import type { TextSource } from '../../index/text/text-source.ts';
import type { Fragment, Snapshot } from '../../format/snapshot.ts';
import type { BatchSize } from '../../format/stored-sizes.ts';
import type { MaybePromise } from '../../../protocol/maybe-promise.ts';

/** The name of the column that holds row ids in a file that stores them. */
export const STORED_ROW_ID = '_rowid';

/** Consecutive batches of a fragment. */
export interface BatchRange {
  readonly first: number;
  readonly count: number;
}

/** A batch of a fragment without deleted rows. */
export interface FragmentBatch {
  readonly batch: RecordBatch;
  /** Position of the batch in its file. */
  readonly index: number;
  readonly rowIds: RowIds;
  /** Position in the file of the batch's first physical row. */
  readonly start: number;
  /** Live physical rows of the batch, ascending; null for all. */
  readonly live: Uint32Array | null;
  /** Number of live rows of the fragment before the batch. */
  readonly before: number;
  /** Number of rows of the batch before the first one here. */
  readonly skipped: number;
  /**
   * Returns the memory of the rows for later reads. Call it at most once, when nothing uses the
   * rows any more; the call is optional.
   */
  readonly release?: () => void;
}

/** Reads some rows of a batch alone. @param rows Positions in the batch, ascending. */
type PickRows = (
  fragment: Fragment,
  index: number,
  columns: readonly string[],
  rows: Uint32Array,
) => Promise<RecordBatch | undefined>;

/** A source of rows. */
export interface BatchSource {
  /**
   * Reads a fragment batch by batch with exactly these columns in this order. `ahead` batches are
   * read in advance. With a range only its batches are read.
   */
  batches(
    snapshot: Snapshot,
    fragment: Fragment,
    columns: readonly string[],
    ahead?: number,
    range?: BatchRange,
  ): AsyncGenerator<FragmentBatch>;
  /** Reads one batch of a fragment, or some of its rows. */
  batch(
    snapshot: Snapshot,
    fragment: Fragment,
    index: number,
    columns: readonly string[],
    rows?: RowRange,
  ): Promise<FragmentBatch>;
  /**
   * Reads some rows of a batch alone; undefined where that saves nothing.
   * @param rows Positions in the batch, ascending.
   */
  readonly picked?: PickRows | undefined;
  /** Sizes of a fragment's batches with some columns, including deleted rows; null if unknown. */
  sizes?(
    snapshot: Snapshot,
    fragment: Fragment,
    columns: readonly string[],
  ): Promise<readonly BatchSize[] | null>;
  /** Finds rows by indices; if absent, all rows are read. */
  readonly indices?: IndexSource | undefined;
  /** Access to vector indices; if absent, all vectors are compared. */
  readonly vectors?: VectorSource | undefined;
  /** Access to text indices; if absent, there are no full-text searches. */
  readonly texts?: TextSource | undefined;
  /** As the batch's `release`, by memory. Ignores other memory. */
  giveBack?(memory: ArrayBufferLike): void;
  /** Whether memory belongs to a cached column, so that others may refer to it for a while. */
  isCached?(memory: ArrayBufferLike): boolean;
}

/** Finds rows of fragments by indices, and reads them. */
export interface IndexSource {
  /** Rows that a lookup finds; null if a scan is cheaper. */
  candidates(
    snapshot: Snapshot,
    fragment: Fragment,
    lookup: FragmentLookup,
  ): MaybePromise<Candidates | null>;
  /** Reads live rows of a batch. @param rows Positions in the batch, ascending. */
  rows(
    snapshot: Snapshot,
    fragment: Fragment,
    batch: Pick<CandidateBatch, 'index' | 'start'>,
    columns: readonly string[],
    rows: Uint32Array,
  ): MaybePromise<PickedRows>;
  /** Reads a few live rows of several batches as those of one; absent where that saves nothing. */
  readonly together?: ReadTogether | undefined;
}

type ReadTogether = (
  snapshot: Snapshot,
  fragment: Fragment,
  batches: readonly RowsOfBatch[],
  columns: readonly string[],
) => MaybePromise<PickedRows>;

/** Live rows of a batch, ascending. */
export type RowsOfBatch = Pick<CandidateBatch, 'index' | 'start' | 'rows'>;

/** Some rows of a batch, or of several. */
export interface PickedRows {
  readonly batch: RecordBatch;
  readonly rowIds: RowIds;
}
