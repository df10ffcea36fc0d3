/** A data file of a Lance fragment. */
export interface LanceDataFile {
  readonly path: string;
  /** Ids of the fields in it; those that are not used any more are negative. */
  readonly fields: readonly number[];
  /** Null where the writer did not say. */
  readonly bytes: bigint | null;
  /** Which of the manifest's bases it lies in; absent where that is the folder of the manifest's own branch. */
  readonly base?: number;
}

/** What a manifest says of rows that are deleted. */
export interface LanceDeletions {
  /** What names the file: another file is another set of rows. */
  readonly name: string;
  readonly rows: bigint;
  /** Which of the manifest's bases it lies in; absent where that is the folder of the manifest's own branch. */
  readonly base?: number;
}

/** A folder of another table or branch in which files of a version lie. */
export interface LanceBase {
  /** As its client wrote it: a path, or the URL of one. */
  readonly path: string;
  /** Whether files lie in folders of it by their kinds, as in that of a table. */
  readonly isTable: boolean;
}

/** Some rows of a Lance table. */
export interface LanceFragment {
  readonly id: bigint;
  readonly files: readonly LanceDataFile[];
  /** Rows in the files, deleted ones included; early versions of the format did not count them. */
  readonly physicalRows: bigint;
  readonly deletions: LanceDeletions | null;
}

/** A field as a manifest lists it: all fields of all levels in one list. */
export interface LanceField {
  readonly name: string;
  readonly id: number;
  /** The id of the field that it lies in; negative for a column. */
  readonly parent: number;
  /** The logical type: `int32`, `fixed_size_list:float:128`, `list.struct`. */
  readonly type: string;
  readonly nullable: boolean;
  readonly metadata: ReadonlyMap<string, string>;
}

/** What the catalog needs of a Lance manifest: its schema and its rows. */
export interface LanceManifest {
  readonly version: bigint;
  /** Null for the main one. */
  readonly branch: string | null;
  /** Null where the writer did not say. */
  readonly timestampMillis: number | null;
  readonly fields: readonly LanceField[];
  readonly metadata: ReadonlyMap<string, string>;
  readonly fragments: readonly LanceFragment[];
  readonly bases: ReadonlyMap<number, LanceBase>;
  /** Where in the file the list of indices is; null when there is none. */
  readonly indices: bigint | null;
  /** Name of the file with the transaction that made it; null where the writer did not say. */
  readonly transactionFile: string | null;
  /** Where in the manifest's own file the transaction is; null when it is not there. */
  readonly transaction: bigint | null;
}

/** Rows of a fragment that are not deleted. */
export function liveRows({ physicalRows, deletions }: LanceFragment): bigint {
  const rows = physicalRows - deletedRows({ deletions });
  return rows < 0n ? 0n : rows;
}

export function deletedRows({ deletions }: Pick<LanceFragment, 'deletions'>): bigint {
  return deletions?.rows ?? 0n;
}

/** How large a fragment's data files are together, as far as the manifest says. */
export function fragmentBytes({ files }: LanceFragment): bigint {
  return files.reduce((sum, { bytes }) => sum + (bytes ?? 0n), 0n);
}
