import type { Storage } from '../../storage/storage.ts';
import type { Schema } from 'apache-arrow';
import { join } from 'node:path';
import { placeOfSeal, type FileSeal, type StoredFile } from '../../arrow/sealed/file-seal.ts';
import { DETACHED_SEALS } from './layout.ts';
import type { Stored, VersionRecord } from './records.ts';
import type { TextOptions } from '../tokens/text-options.ts';

/** A data file: an Arrow file with some columns of its fragment's rows. */
export interface DataFile {
  /** Path inside the table's folder: `data/<uuid>.arrow`. */
  readonly path: string;
  readonly bytes: number;
  /** Ids of the file's columns, in the file's order. */
  readonly fields: readonly number[];
  /** Statistics in the format of `FileStatistics`; absent in older files. */
  readonly statistics?: Uint8Array | undefined;
  /** Absent only in a manifest from before seals, and for a file that its table does not list. */
  readonly seal?: FileSeal | undefined;
}

/** Kinds of index that are built. */
export type IndexType = 'BTREE' | 'BITMAP' | 'LABEL_LIST' | 'FTS' | 'IVF_RQ' | 'IVF_FLAT';

/** An index of a table. The fragments name their index files. */
export interface IndexDefinition {
  readonly name: string;
  readonly uuid: string;
  readonly type: IndexType;
  /** Id of the column. */
  readonly field: number;
  readonly createdMillis: number;
  /** Distance of a vector index; absent for other indices. */
  readonly distance?: 'l2' | 'cosine' | 'dot' | 'hamming' | undefined;
  /** The requested kind if another kind is built. */
  readonly asked?: string | undefined;
  /** Tokeniser options of an FTS index. */
  readonly text?: TextOptions | undefined;
}

/** The file of an index for one fragment. */
export interface FragmentIndex {
  /** The uuid of the index. */
  readonly index: string;
  /** Id of the column when the file was written. */
  readonly field: number;
  /** Path inside the table's folder: `indices/<uuid of the index>/<uuid>.arrow`. */
  readonly path: string;
  readonly bytes: number;
  /** Absent only in a manifest from before seals, and for a file that its table does not list. */
  readonly seal?: FileSeal | undefined;
}

/**
 * A group of rows. Their columns lie in one or several data files with the same batches; a column
 * without a file is null.
 */
export interface Fragment {
  readonly files: readonly DataFile[];
  /** Rows in the files, including deleted ones. */
  readonly physicalRows: number;
  /** Rows without deleted ones. */
  readonly rows: number;
  /** Row id of the first physical row. The ids of the others follow unless row ids are stored. */
  readonly firstRowId: bigint;
  /** Whether the first file has an extra column of row ids. */
  readonly storedRowIds: boolean;
  /** Path of the file that lists the deleted rows: `deletions/<uuid>.arrow`. */
  readonly deletions: string | null;
  /** The seal of that file; absent as that of a data file. */
  readonly deletionsSeal?: FileSeal | undefined;
  /** Index files of the fragment; rows without one are scanned. */
  readonly indices?: readonly FragmentIndex[] | undefined;
}

/**
 * A file with fragments of several versions, so that a version costs what it changed. A version names
 * ranges of it.
 */
export interface FragmentList {
  /** Path inside the table's folder: `fragments/<uuid>.arrow`. */
  readonly path: string;
  readonly bytes: number;
  readonly seal: FileSeal;
  readonly fragments: readonly Fragment[];
  /** Texts that manifests take from it: their keys in the metadata of a manifest. */
  readonly facts: ReadonlyMap<string, string>;
}

/** An immutable view of a table at one version, with everything that a read needs. */
export interface Snapshot {
  readonly tableId: string;
  /** Storage of the table's files. */
  readonly storage: Storage;
  /** Key of the table's folder in the storage. */
  readonly folder: string;
  readonly version: bigint;
  readonly timestampMillis: number;
  readonly schema: Schema;
  /** Ids of the columns in the order of the schema. A renamed column keeps its id. */
  readonly fieldIds: readonly number[];
  readonly nextFieldId: number;
  readonly fragments: readonly Fragment[];
  /** Rows without deleted ones. */
  readonly rows: bigint;
  /** Row id of the next inserted row. */
  readonly nextRowId: bigint;
  readonly indices?: readonly IndexDefinition[] | undefined;
  /**
   * Files that hold fragments of this version. A version that is made from this one may name the
   * same files; it does so where it has the same objects as `fragments`.
   */
  readonly lists?: readonly FragmentList[] | undefined;
}

export type TableFolder = Pick<Snapshot, 'storage' | 'folder'>;

/** A snapshot and the record that named its version: a version record or the head of a line. */
export interface FoundSnapshot {
  readonly snapshot: Snapshot;
  readonly record: Stored<VersionRecord>;
}

/** Permanent key of a fragment: its first file. */
export function fragmentKey(fragment: Fragment): string {
  return fragment.files[0]?.path ?? '';
}

/** The first file of a fragment, in a table's folder. */
export function firstFile(folder: string, { files: [first] }: Fragment): StoredFile {
  return first === undefined ? storedIn(folder, { path: '' }) : keptIn(folder, first);
}

interface KeptFile {
  readonly folder: string;
  readonly stored: StoredFile;
}

const kept = new WeakMap<Pick<DataFile, 'path' | 'seal'>, KeptFile>();

/** As `storedIn`, for the objects of a manifest, which are looked up again and again: the result is kept. */
export function keptIn(folder: string, file: Pick<DataFile, 'path' | 'seal'>): StoredFile {
  const found = kept.get(file);
  if (found !== undefined && found.folder === folder) return found.stored;
  const stored = storedIn(folder, file);
  kept.set(file, { folder, stored });
  return stored;
}

/** A file that a manifest names, by its key in the storage. */
export function storedIn(
  folder: string,
  { path, seal }: Pick<DataFile, 'path' | 'seal'>,
): StoredFile {
  const stored = { path: join(folder, path), seal };
  const place = seal === undefined ? undefined : placeOfSeal(seal);
  if (place === undefined) return stored;
  return { ...stored, block: { path: join(folder, DETACHED_SEALS), ...place } };
}

/** Size of a fragment's data files in bytes. */
export function fragmentDataBytes(fragment: Fragment): number {
  return fragment.files.reduce((sum, file) => sum + file.bytes, 0);
}
