import { Schema, type RecordBatch, type Vector } from 'apache-arrow';
import { batchOfData } from '../../arrow/data.ts';
import type { FileSeal, StoredFile } from '../../arrow/sealed/file-seal.ts';
import { openSealed } from '../../arrow/sealed/sealed-file.ts';
import { SealingWriter, type SealedEnd } from '../../arrow/sealed/sealing-writer.ts';
import { commonFields, fragmentColumns, type FragmentColumn } from './fragment-columns.ts';
import { ownPath } from './layout.ts';
import { bytesAccess } from './memory/random-access.ts';
import type { DataFile, Fragment, FragmentIndex } from './snapshot.ts';

/** Column ids of all data files of a file, if they are the same: a JSON list. */
const COMMON_FIELDS = 'arrowgate.fields';
/** Buffers need not begin at more than this in files that are read as a whole. */
const ALIGNMENT = 8;

/** Facts of a file of fragments, in the metadata of its schema. */
type Facts = ReadonlyMap<string, string>;

/** The contents of a file of fragments: of a manifest or a list. */
interface FragmentFile {
  readonly facts: Facts;
  readonly fragments: readonly Fragment[];
}

/**
 * Encodes fragments as an Arrow file: one row per data file. Columns whose values follow from others
 * are left out, and facts are in the footer alone, since most of these files are small.
 */
export function encodeFragments({ facts, fragments }: FragmentFile): SealedEnd {
  const rows = fragments.flatMap((fragment, position) =>
    fragment.files.map((file) => ({ position, file, fragment })),
  );
  const used = fragmentColumns.filter(({ isImplied }) => !isImplied(rows));
  const common = commonFields(rows);
  const implied: readonly (readonly [string, string])[] =
    common === undefined ? [] : [[COMMON_FIELDS, JSON.stringify(common)]];
  const schema = schemaOf(used);
  const metadata = new Map([...facts, ...implied]);
  const writer = new SealingWriter(schema, { metadata, alignment: ALIGNMENT });
  const begin = writer.begin();
  const data = used.map((one) => one.data(rows));
  const batch = writer.batch(batchOfData(schema, data, rows.length));
  const { bytes: end, seal } = writer.end();
  return { bytes: Buffer.concat([begin, ...batch, end]), seal };
}

/**
 * The inverse of `encodeFragments`. Also reads the manifests of older formats: they have all columns
 * that existed then.
 * @param block The block of a detached seal.
 * @throws DamagedFile, ArrowError when the bytes are not an Arrow file.
 */
export async function decodeFragments(
  bytes: Uint8Array,
  stored: StoredFile,
  block?: Uint8Array,
): Promise<FragmentFile> {
  const { file } = await openSealed(bytesAccess(bytes), stored, block);
  const facts = file.schema.metadata;
  const common = facts.get(COMMON_FIELDS);
  const fields = common === undefined ? undefined : (JSON.parse(common) as readonly number[]);
  const fragments: Fragment[] = [];
  for (const [index] of file.batchRows.entries()) {
    const cells = new Cells(await file.readBatch(index), fields);
    for (let row = 0; row < cells.rows; row++) addFile(fragments, cells, row);
  }
  return { facts, fragments };
}

/** Schemas without metadata by the names of their columns: there are few, and their encoding is cached. */
const schemas = new Map<string, Schema>();

function schemaOf(used: readonly FragmentColumn[]): Schema {
  const key = used.map(({ field }) => field.name).join();
  const schema = schemas.get(key) ?? new Schema(used.map(({ field }) => field));
  schemas.set(key, schema);
  return schema;
}

function indexFilesOf(text: string): readonly FragmentIndex[] {
  const indices = JSON.parse(text) as readonly FragmentIndex[];
  for (const { path } of indices) ownPath(path);
  return indices;
}

function addFile(fragments: Fragment[], cells: Cells, row: number): void {
  const position = Number(cells.find('fragment', row) ?? fragments.length);
  const statistics = cells.statisticsAt(row);
  const file: DataFile = {
    path: ownPath(String(cells.at('file', row))),
    bytes: Number(cells.at('bytes', row)),
    fields: cells.fieldsAt(row),
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
  const deletions = cells.find('deletions', row);
  const indices = cells.find('index_files', row);
  const physicalRows = Number(cells.at('rows', row));
  return {
    physicalRows,
    rows: Number(cells.find('live_rows', row) ?? physicalRows),
    firstRowId: BigInt(String(cells.at('first_row_id', row))),
    storedRowIds: cells.find('stored_row_ids', row) === true,
    deletions: typeof deletions === 'string' ? ownPath(deletions) : null,
    ...optional('deletionsSeal', cells.sealAt('deletions_seal', row)),
    ...(typeof indices === 'string' ? { indices: indexFilesOf(indices) } : {}),
  };
}

function optional<Name extends string>(
  name: Name,
  seal: FileSeal | undefined,
): { readonly [Each in Name]?: FileSeal } {
  return seal === undefined ? {} : ({ [name]: seal } as { readonly [Each in Name]?: FileSeal });
}

/** Access to the cells of a batch by column name. */
class Cells {
  readonly rows: number;
  readonly #vectors: ReadonlyMap<string, Vector>;
  readonly #fields: readonly number[] | undefined;

  /** @param fields The column ids of all data files, if the batch does not have them. */
  constructor(batch: RecordBatch, fields: readonly number[] | undefined) {
    this.rows = batch.numRows;
    this.#fields = fields;
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

  /** A value of a column that may be absent. */
  find(name: string, row: number): unknown {
    return this.#vectors.get(name)?.get(row);
  }

  fieldsAt(row: number): readonly number[] {
    return this.#fields ?? Array.from(this.at('fields', row) as Iterable<number>);
  }

  statisticsAt(row: number): Uint8Array | null {
    const bytes = this.find('statistics', row);
    return bytes instanceof Uint8Array ? bytes : null;
  }

  sealAt(name: string, row: number): FileSeal | undefined {
    const seal = this.find(name, row);
    return typeof seal === 'string' ? seal : undefined;
  }
}
