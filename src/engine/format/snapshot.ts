import type { Schema } from 'apache-arrow';
import type { Stored, VersionRecord } from './records.ts';
import type { TextOptions } from '../tokens/text-options.ts';

/** One data file: an Arrow file that holds some columns of its fragment's rows. */
export interface DataFile {
  /** Path inside the table's folder: `data/<uuid>.arrow`. */
  readonly path: string;
  readonly bytes: number;
  /** Ids of the file's columns, in the file's order. */
  readonly fields: readonly number[];
  /** What is known of the columns' values, as `FileStatistics` reads it; older files have none. */
  readonly statistics?: Uint8Array | undefined;
}

/** What kinds of index are built. */
export type IndexType = 'BTREE' | 'BITMAP' | 'LABEL_LIST' | 'FTS' | 'IVF_RQ' | 'IVF_FLAT';

/** An index of a table. Which fragments it covers stands with these. */
export interface IndexDefinition {
  readonly name: string;
  readonly uuid: string;
  readonly type: IndexType;
  /** Id of the column. */
  readonly field: number;
  readonly createdMillis: number;
  /** By what an index over vectors compares them; others have none. */
  readonly distance?: 'l2' | 'cosine' | 'dot' | 'hamming' | undefined;
  /** The kind that was asked for, where another is built. */
  readonly asked?: string | undefined;
  /** How an index of type FTS makes tokens of texts. */
  readonly text?: TextOptions | undefined;
}

/** What an index knows of one fragment's rows: a file of its own. */
export interface FragmentIndex {
  /** The uuid of the index. */
  readonly index: string;
  /** Id of the column as it was when the file was written. */
  readonly field: number;
  /** Path inside the table's folder: `indices/<uuid of the index>/<uuid>.arrow`. */
  readonly path: string;
  readonly bytes: number;
}

/**
 * Some rows of a table. Their columns lie in one data file or in several of the
 * same batches; a column that lies in none is null.
 */
export interface Fragment {
  readonly files: readonly DataFile[];
  /** Rows in the files, deleted ones included. */
  readonly physicalRows: number;
  /** Rows that are not deleted. */
  readonly rows: number;
  /** The row id of the first physical row; the others follow, unless they are stored. */
  readonly firstRowId: bigint;
  /** Whether the first file has a further column with the rows' ids. */
  readonly storedRowIds: boolean;
  /** Path of the file that lists the deleted rows: `deletions/<uuid>.arrow`. */
  readonly deletions: string | null;
  /** What indices know of the rows; those of others have to be scanned. */
  readonly indices?: readonly FragmentIndex[] | undefined;
}

/** A table at one version: everything a read needs, immutable. */
export interface Snapshot {
  readonly tableId: string;
  /** Absolute path of the table's folder. */
  readonly folder: string;
  readonly version: bigint;
  readonly timestampMillis: number;
  readonly schema: Schema;
  /** Ids of the schema's columns, in its order. A column keeps its id when it is renamed. */
  readonly fieldIds: readonly number[];
  readonly nextFieldId: number;
  readonly fragments: readonly Fragment[];
  /** Rows that are not deleted. */
  readonly rows: bigint;
  /** The row id that the next row gets. */
  readonly nextRowId: bigint;
  readonly indices?: readonly IndexDefinition[] | undefined;
}

/** A table at one version, and the record that named the version: its own, or the head of a line. */
export interface FoundSnapshot {
  readonly snapshot: Snapshot;
  readonly record: Stored<VersionRecord>;
}

/** What names a fragment for good: its first file. */
export function fragmentKey(fragment: Fragment): string {
  return fragment.files[0]?.path ?? '';
}

/** How large a fragment's data files are together. */
export function bytesOf(fragment: Fragment): number {
  return fragment.files.reduce((sum, file) => sum + file.bytes, 0);
}
