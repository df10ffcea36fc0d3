import type { Schema } from 'apache-arrow';

/** One data file of a table, as its manifest lists it. */
export interface Fragment {
  /** Path inside the table's folder: `data/<uuid>.arrow`. */
  readonly file: string;
  /** Rows in the file, deleted ones included. */
  readonly rows: number;
  readonly bytes: number;
  /** The row id of the file's first row; the others follow. */
  readonly firstRowId: bigint;
}

/** A table at one version: everything a read needs, immutable. */
export interface Snapshot {
  readonly tableId: string;
  /** Absolute path of the table's folder. */
  readonly folder: string;
  readonly version: bigint;
  readonly timestampMillis: number;
  readonly schema: Schema;
  readonly fragments: readonly Fragment[];
  readonly rows: bigint;
  /** The row id that the next row gets. */
  readonly nextRowId: bigint;
}
