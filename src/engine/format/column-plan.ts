import type { Data, RecordBatch, Schema } from 'apache-arrow';
import { batchOfData } from '../../arrow/data.ts';
import type { StoredFile } from '../../arrow/sealed/file-seal.ts';
import { schemaOf } from '../../arrow/nested-type.ts';
import { nullsOf, retype } from '../../arrow/nullability.ts';
import { storedIn, type Fragment, type Snapshot } from './snapshot.ts';

/** Columns to read from one data file. */
interface FileColumns {
  readonly stored: StoredFile;
  /** Positions of the columns in the file, without repetition. */
  readonly places: readonly number[];
}

/** Locations of the requested columns of a fragment, the same for all of its batches. */
export interface ColumnPlan {
  readonly schema: Schema;
  readonly files: readonly FileColumns[];
  /** For each column its file and its position there; null if no file has it. */
  readonly sources: readonly ({ readonly file: number; readonly place: number } | null)[];
}

/** The last plan of a fragment: most reads request the same columns again. */
const last = new WeakMap<Fragment, KnownPlan>();

interface KnownPlan {
  readonly snapshot: WeakRef<Snapshot>;
  readonly columns: readonly string[];
  readonly plan: ColumnPlan;
}

/** Plans to read some columns of a fragment. */
export function planColumns(
  snapshot: Snapshot,
  fragment: Fragment,
  columns: readonly string[],
): ColumnPlan {
  const cached = last.get(fragment);
  if (cached?.snapshot.deref() === snapshot && isSame(cached.columns, columns)) return cached.plan;
  const plan = newPlan(snapshot, fragment, columns);
  last.set(fragment, { snapshot: new WeakRef(snapshot), columns, plan });
  return plan;
}

function isSame(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((name, at) => name === others[at]);
}

function newPlan(snapshot: Snapshot, fragment: Fragment, columns: readonly string[]): ColumnPlan {
  const files: { stored: StoredFile; places: number[] }[] = [];
  const found = columns.map((name) => placeOf(snapshot, fragment, name));
  const sources = found.map(({ dataFile, place }) => {
    if (dataFile === undefined) return null;
    const stored = storedIn(snapshot.folder, dataFile);
    const file = files.findIndex((each) => each.stored.path === stored.path);
    if (file < 0) return { file: files.push({ stored, places: [place] }) - 1, place };
    const places = files[file]?.places ?? [];
    if (!places.includes(place)) places.push(place);
    return { file, place };
  });
  return { schema: plannedSchema(snapshot.schema, columns), files, sources };
}

/** The last schema of planned columns: it is the same for all fragments of a version. */
const schemas = new WeakMap<
  Schema,
  { readonly columns: readonly string[]; readonly schema: Schema }
>();

function plannedSchema(table: Schema, columns: readonly string[]): Schema {
  const cached = schemas.get(table);
  if (cached !== undefined && isSame(cached.columns, columns)) return cached.schema;
  const fields = columns.map((name) => table.fields.find((field) => field.name === name)!);
  const schema = schemaOf(fields, table.metadata);
  schemas.set(table, { columns, schema });
  return schema;
}

/** Assembles rows of a batch from the columns that were read of each file. */
export function plannedBatch(
  { schema, sources }: ColumnPlan,
  read: readonly ReadonlyMap<number, Data>[],
  rows: number,
): RecordBatch {
  const columns = schema.fields.map(({ type }, at) => {
    const source = sources[at];
    const data = source && read[source.file]?.get(source.place);
    return data ? retype(data, type) : nullsOf(type, rows);
  });
  return batchOfData(schema, columns, rows);
}

/** The location of a column in a fragment; undefined if the column is null throughout. */
function placeOf(snapshot: Snapshot, fragment: Fragment, name: string) {
  const position = snapshot.schema.fields.findIndex((field) => field.name === name);
  const field = snapshot.schema.fields[position];
  const id = snapshot.fieldIds[position];
  if (field === undefined || id === undefined) throw new Error(`the table has no column ${name}`);
  const dataFile = fragment.files.find(({ fields }) => fields.includes(id));
  return { dataFile, place: dataFile?.fields.indexOf(id) ?? -1 };
}
