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
  type RecordBatch,
  type Schema,
  type Vector,
} from 'apache-arrow';
import { batchOfData } from '../../arrow/data.ts';
import {
  bigintsData,
  bitsData,
  bytesData,
  integersData,
  listsData,
  textsData,
} from './manifest-data.ts';
import type { FileSeal } from '../../arrow/sealed/file-seal.ts';
import { ownPath } from './layout.ts';
import type { DataFile, Fragment } from './snapshot.ts';

/** A row of a manifest: a data file with the facts of its fragment. */
interface FileRow {
  /** Position of the fragment in the table; files of a fragment share it. */
  readonly position: number;
  readonly file: DataFile;
  readonly fragment: Fragment;
}

interface Column {
  readonly field: Field;
  readonly data: (rows: readonly FileRow[]) => Data;
}

function column(
  name: string,
  type: DataType,
  data: (rows: readonly FileRow[]) => Data,
  nullable = false,
): Column {
  return { field: new Field(name, type, nullable), data };
}

const item = new Field('item', new Int32(), false);

const columns: readonly Column[] = [
  column('fragment', new Int32(), (rows) => integersData(rows, ({ position }) => position)),
  column('file', new Utf8(), (rows) => textsData(rows, ({ file }) => file.path)),
  column('bytes', new Int64(), (rows) =>
    bigintsData(new Int64(), rows, ({ file }) => BigInt(file.bytes)),
  ),
  column('fields', new List(item), (rows) => listsData(item, rows, ({ file }) => file.fields)),
  column('rows', new Int64(), (rows) =>
    bigintsData(new Int64(), rows, ({ fragment }) => BigInt(fragment.physicalRows)),
  ),
  column('live_rows', new Int64(), (rows) =>
    bigintsData(new Int64(), rows, ({ fragment }) => BigInt(fragment.rows)),
  ),
  column('first_row_id', new Uint64(), (rows) =>
    bigintsData(new Uint64(), rows, ({ fragment }) => fragment.firstRowId),
  ),
  column('stored_row_ids', new Bool(), (rows) =>
    bitsData(rows, ({ fragment }) => fragment.storedRowIds),
  ),
  column(
    'deletions',
    new Utf8(),
    (rows) => textsData(rows, ({ fragment }) => fragment.deletions),
    true,
  ),
  column(
    'statistics',
    new Binary(),
    (rows) => bytesData(rows, ({ file }) => file.statistics ?? null),
    true,
  ),
  column('seal', new Utf8(), (rows) => textsData(rows, ({ file }) => file.seal ?? null), true),
  column(
    'deletions_seal',
    new Utf8(),
    (rows) => textsData(rows, ({ fragment }) => deletionsSealOf(fragment)),
    true,
  ),
];

/** The columns of every manifest. Those of older formats have no statistics or no seals. */
export const manifestFields: readonly Field[] = columns.map(({ field }) => field);

/** Fragments as the rows of a manifest: one for each data file. */
export function batchOfFragments(schema: Schema, fragments: readonly Fragment[]): RecordBatch {
  const rows: FileRow[] = [];
  for (const [position, fragment] of fragments.entries()) {
    for (const file of fragment.files) rows.push({ position, file, fragment });
  }
  return batchOfData(
    schema,
    columns.map(({ data }) => data(rows)),
    rows.length,
  );
}

/** The inverse of `batchOfFragments`, over all batches of a manifest. */
export function fragmentsOfBatches(batches: readonly RecordBatch[]): readonly Fragment[] {
  const fragments: Fragment[] = [];
  for (const batch of batches) {
    const cells = new Cells(batch);
    for (let row = 0; row < batch.numRows; row++) addFile(fragments, cells, row);
  }
  return fragments;
}

function addFile(fragments: Fragment[], cells: Cells, row: number): void {
  const position = Number(cells.at('fragment', row));
  const statistics = cells.statisticsAt(row);
  const file: DataFile = {
    path: ownPath(String(cells.at('file', row))),
    bytes: Number(cells.at('bytes', row)),
    fields: Array.from(cells.at('fields', row) as Iterable<number>),
    ...(statistics === null ? {} : { statistics }),
    ...optional('seal', cells.sealAt('seal', row)),
  };
  const existing = fragments[position];
  fragments[position] =
    existing === undefined
      ? { files: [file], ...fragmentCells(cells, row) }
      : { ...existing, files: [...existing.files, file] };
}

function fragmentCells(cells: Cells, row: number): Omit<Fragment, 'files'> {
  const deletions = cells.at('deletions', row);
  return {
    physicalRows: Number(cells.at('rows', row)),
    rows: Number(cells.at('live_rows', row)),
    firstRowId: BigInt(String(cells.at('first_row_id', row))),
    storedRowIds: cells.at('stored_row_ids', row) === true,
    deletions: typeof deletions === 'string' ? ownPath(deletions) : null,
    ...optional('deletionsSeal', cells.sealAt('deletions_seal', row)),
  };
}

function deletionsSealOf({ deletions, deletionsSeal }: Fragment): FileSeal | null {
  return deletions === null ? null : (deletionsSeal ?? null);
}

function optional<Name extends string>(
  name: Name,
  seal: FileSeal | undefined,
): { readonly [Each in Name]?: FileSeal } {
  return seal === undefined ? {} : ({ [name]: seal } as { readonly [Each in Name]?: FileSeal });
}

/** Access to the cells of a manifest's batch by column name. */
class Cells {
  readonly #vectors: ReadonlyMap<string, Vector>;

  constructor(batch: RecordBatch) {
    this.#vectors = new Map(
      batch.schema.fields.flatMap(({ name }, at) => {
        const column = batch.getChildAt(at);
        return column === null ? [] : [[name, column]];
      }),
    );
  }

  at(name: string, row: number): unknown {
    const vector = this.#vectors.get(name);
    if (vector === undefined) throw new Error(`the manifest has no column ${name}`);
    return vector.get(row);
  }

  statisticsAt(row: number): Uint8Array | null {
    const bytes: unknown = this.#vectors.get('statistics')?.get(row);
    return bytes instanceof Uint8Array ? bytes : null;
  }

  sealAt(name: string, row: number): FileSeal | undefined {
    const seal: unknown = this.#vectors.get(name)?.get(row);
    return typeof seal === 'string' ? seal : undefined;
  }
}
