/** A data file of a Lance fragment. */
export interface LanceDataFile {
  readonly path: string;
  /** Field ids; negative for fields that are no longer used. */
  readonly fields: readonly number[];
  /** Number of the columns that it gives for its fields. */
  readonly columns: number;
  /** Its format; 0.0 if the writer did not record it. */
  readonly major: number;
  readonly minor: number;
  /** Null if the writer did not record it. */
  readonly bytes: bigint | null;
  /**
   * Base of the manifest that holds the file; absent for the folder of the manifest's own branch.
   */
  readonly base?: number;
}

/** The deleted rows of a fragment. */
export interface LanceDeletions {
  /** Identifies the file; another file is another set of rows. */
  readonly name: string;
  readonly rows: bigint;
  /**
   * Base of the manifest that holds the file; absent for the folder of the manifest's own branch.
   */
  readonly base?: number;
}

/** A folder of another table or branch that holds files of a version. */
export interface LanceBase {
  /** Path or URL in the client's spelling. */
  readonly path: string;
  /** Whether files are in subfolders by kind, as in a table's folder. */
  readonly isTable: boolean;
}

/** A fragment of a Lance table. */
export interface LanceFragment {
  readonly id: bigint;
  readonly files: readonly LanceDataFile[];
  /** Rows in the files including deleted ones; early versions of the format did not record them. */
  readonly physicalRows: bigint;
  readonly deletions: LanceDeletions | null;
  /** Whether it lists the ids of its rows. */
  readonly hasRowIds: boolean;
}

/** A field as a manifest lists it: all fields of all levels in one list. */
export interface LanceField {
  readonly name: string;
  readonly id: number;
  /** Id of the parent field; negative for a column. */
  readonly parent: number;
  /** The logical type: `int32`, `fixed_size_list:float:128`, `list.struct`. */
  readonly type: string;
  readonly nullable: boolean;
  readonly metadata: ReadonlyMap<string, string>;
}

/** A part of an index that was built at once, in a folder of its own. */
export interface LanceIndexSegment {
  /** Name of its folder. */
  readonly uuid: string;
  /** Name of the index. */
  readonly name: string;
  /**
   * Base of the manifest that holds the folder; absent for the folder of the manifest's own branch.
   */
  readonly base?: number;
}

/** The parts of a Lance manifest that the catalog needs. */
export interface LanceManifest {
  readonly version: bigint;
  /** Null for main. */
  readonly branch: string | null;
  /** Null if the writer did not record it. */
  readonly timestampMillis: number | null;
  readonly fields: readonly LanceField[];
  readonly metadata: ReadonlyMap<string, string>;
  readonly fragments: readonly LanceFragment[];
  readonly bases: ReadonlyMap<number, LanceBase>;
  /** What readers must know. */
  readonly readerFlags: bigint;
  /** Offset of the list of indices; null if there is none. */
  readonly indices: bigint | null;
  /** Name of the transaction file; null if the writer did not record it. */
  readonly transactionFile: string | null;
  /** Offset of the transaction in the manifest's file; null if it is not there. */
  readonly transaction: bigint | null;
}

/** Number of rows of a fragment without deleted ones. */
export function liveRowCount({ physicalRows, deletions }: LanceFragment): bigint {
  const rows = physicalRows - deletedRowCount({ deletions });
  return rows < 0n ? 0n : rows;
}

export function deletedRowCount({ deletions }: Pick<LanceFragment, 'deletions'>): bigint {
  return deletions?.rows ?? 0n;
}

/** Size of a fragment's data files in bytes, as far as the manifest records it. */
export function fragmentBytes({ files }: LanceFragment): bigint {
  return files.reduce((sum, { bytes }) => sum + (bytes ?? 0n), 0n);
}
