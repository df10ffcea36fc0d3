import {
  Binary,
  Bool,
  Field,
  Int32,
  Int64,
  List,
  Uint64,
  Utf8,
  type Data,
  type DataType,
} from 'apache-arrow';
import {
  bigintsData,
  bitsData,
  bytesData,
  integersData,
  listsData,
  textsData,
} from './manifest-data.ts';
import type { FileSeal } from '../../arrow/sealed/file-seal.ts';
import type { DataFile, Fragment } from './snapshot.ts';

/** A row of a manifest or a list: a data file with the facts of its fragment. */
export interface FileRow {
  /** Position of the fragment among those of the file; data files of a fragment share it. */
  readonly position: number;
  readonly file: DataFile;
  readonly fragment: Fragment;
}

export interface FragmentColumn {
  readonly field: Field;
  readonly data: (rows: readonly FileRow[]) => Data;
  /** Whether the values follow from what else the file holds. */
  readonly isImplied: (rows: readonly FileRow[]) => boolean;
}

function column(
  name: string,
  type: DataType,
  data: (rows: readonly FileRow[]) => Data,
  isImplied: FragmentColumn['isImplied'] = () => false,
): FragmentColumn {
  return { field: new Field(name, type, false), data, isImplied };
}

/** A column that may have nulls. It is left out if it has nothing else. */
function optionalColumn<Value extends string | Uint8Array>(
  name: string,
  type: DataType,
  data: (rows: readonly FileRow[], valueOf: (row: FileRow) => Value | null) => Data,
  valueOf: (row: FileRow) => Value | null,
): FragmentColumn {
  return {
    field: new Field(name, type, true),
    data: (rows) => data(rows, valueOf),
    isImplied: (rows) => rows.every((row) => valueOf(row) === null),
  };
}

const item = new Field('item', new Int32(), false);

/** The columns of fragments, in their order in a file. */
export const fragmentColumns: readonly FragmentColumn[] = [
  column(
    'fragment',
    new Int32(),
    (rows) => integersData(rows, ({ position }) => position),
    (rows) => rows.every(({ position }, at) => position === at),
  ),
  column('file', new Utf8(), (rows) => textsData(rows, ({ file }) => file.path)),
  column('bytes', new Int64(), (rows) =>
    bigintsData(new Int64(), rows, ({ file }) => BigInt(file.bytes)),
  ),
  column(
    'fields',
    new List(item),
    (rows) => listsData(item, rows, ({ file }) => file.fields),
    (rows) => commonFields(rows) !== undefined,
  ),
  column('rows', new Int64(), (rows) =>
    bigintsData(new Int64(), rows, ({ fragment }) => BigInt(fragment.physicalRows)),
  ),
  column(
    'live_rows',
    new Int64(),
    (rows) => bigintsData(new Int64(), rows, ({ fragment }) => BigInt(fragment.rows)),
    (rows) => rows.every(({ fragment }) => fragment.rows === fragment.physicalRows),
  ),
  column('first_row_id', new Uint64(), (rows) =>
    bigintsData(new Uint64(), rows, ({ fragment }) => fragment.firstRowId),
  ),
  column(
    'stored_row_ids',
    new Bool(),
    (rows) => bitsData(rows, ({ fragment }) => fragment.storedRowIds),
    (rows) => rows.every(({ fragment }) => !fragment.storedRowIds),
  ),
  optionalColumn<string>('deletions', new Utf8(), textsData, ({ fragment }) => fragment.deletions),
  optionalColumn<Uint8Array>(
    'statistics',
    new Binary(),
    bytesData,
    ({ file }) => file.statistics ?? null,
  ),
  optionalColumn<string>('seal', new Utf8(), textsData, ({ file }) => file.seal ?? null),
  optionalColumn<string>('deletions_seal', new Utf8(), textsData, ({ fragment }) =>
    deletionsSealOf(fragment),
  ),
  optionalColumn<string>('index_files', new Utf8(), textsData, textOfIndexFiles),
];

/** The column ids that all data files have; undefined if they differ, or there is none. */
export function commonFields(rows: readonly FileRow[]): readonly number[] | undefined {
  const first = rows[0]?.file.fields;
  const isSame = ({ file: { fields } }: FileRow) =>
    fields === first ||
    (fields.length === first?.length && fields.every((id, at) => id === first[at]));
  return rows.every(isSame) ? first : undefined;
}

/** The index files of a fragment as JSON, in the row of its first data file. */
function textOfIndexFiles({ file, fragment: { files, indices } }: FileRow): string | null {
  return file === files[0] && indices !== undefined ? JSON.stringify(indices) : null;
}

function deletionsSealOf({ deletions, deletionsSeal }: Fragment): FileSeal | null {
  return deletions === null ? null : (deletionsSeal ?? null);
}
