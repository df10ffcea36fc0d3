import {
  Bool,
  Field,
  Int32,
  Int64,
  List,
  Uint64,
  Utf8,
  vectorFromArray,
  type DataType,
  type RecordBatch,
  type Schema,
} from 'apache-arrow';
import { batchOf } from '../../arrow/select.ts';
import type { DataFile, Fragment } from './snapshot.ts';

/** One row of a manifest: a data file, and what holds for its fragment. */
interface FileRow {
  /** Position of the fragment in the table; the files of one fragment share it. */
  readonly position: number;
  readonly file: DataFile;
  readonly fragment: Fragment;
}

interface Column {
  readonly field: Field;
  readonly value: (row: FileRow) => unknown;
}

function column(
  name: string,
  type: DataType,
  value: (row: FileRow) => unknown,
  nullable = false,
): Column {
  return { field: new Field(name, type, nullable), value };
}

const columns: readonly Column[] = [
  column('fragment', new Int32(), ({ position }) => position),
  column('file', new Utf8(), ({ file }) => file.path),
  column('bytes', new Int64(), ({ file }) => BigInt(file.bytes)),
  column('fields', new List(new Field('item', new Int32(), false)), ({ file }) => file.fields),
  column('rows', new Int64(), ({ fragment }) => BigInt(fragment.physicalRows)),
  column('live_rows', new Int64(), ({ fragment }) => BigInt(fragment.rows)),
  column('first_row_id', new Uint64(), ({ fragment }) => fragment.firstRowId),
  column('stored_row_ids', new Bool(), ({ fragment }) => fragment.storedRowIds),
  column('deletions', new Utf8(), ({ fragment }) => fragment.deletions, true),
];

/** The columns of every manifest. */
export const manifestFields: readonly Field[] = columns.map(({ field }) => field);

/** Fragments as the rows of a manifest: one for each data file. */
export function batchOfFragments(schema: Schema, fragments: readonly Fragment[]): RecordBatch {
  const rows = fragments.flatMap((fragment, position) =>
    fragment.files.map((file) => ({ position, file, fragment })),
  );
  const vectors = columns.map(({ field, value }) => vectorFromArray(rows.map(value), field.type));
  return batchOf(schema, vectors, rows.length);
}

/** The inverse of `batchOfFragments`, over all batches of a manifest. */
export function fragmentsOfBatches(batches: readonly RecordBatch[]): readonly Fragment[] {
  const fragments: Fragment[] = [];
  for (const batch of batches) {
    for (let row = 0; row < batch.numRows; row++)
      addFile(fragments, (name) => cell(batch, name, row));
  }
  return fragments;
}

function addFile(fragments: Fragment[], get: (name: string) => unknown): void {
  const position = Number(get('fragment'));
  const file = {
    path: String(get('file')),
    bytes: Number(get('bytes')),
    fields: Array.from(get('fields') as Iterable<number>),
  };
  const known = fragments[position];
  fragments[position] =
    known === undefined
      ? { files: [file], ...fragmentCells(get) }
      : { ...known, files: [...known.files, file] };
}

function fragmentCells(get: (name: string) => unknown): Omit<Fragment, 'files'> {
  const deletions = get('deletions');
  return {
    physicalRows: Number(get('rows')),
    rows: Number(get('live_rows')),
    firstRowId: BigInt(String(get('first_row_id'))),
    storedRowIds: get('stored_row_ids') === true,
    deletions: typeof deletions === 'string' ? deletions : null,
  };
}

function cell(batch: RecordBatch, name: string, row: number): unknown {
  const vector = batch.getChild(name);
  if (vector === null) throw new Error(`the manifest has no column ${name}`);
  return vector.get(row);
}
