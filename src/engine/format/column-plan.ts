import { join } from 'node:path';
import type { Data, RecordBatch, Schema } from 'apache-arrow';
import { batchOfData } from '../../arrow/data.ts';
import { schemaOf } from '../../arrow/nested-type.ts';
import { nullsOf, retype } from '../../arrow/nullability.ts';
import type { Fragment, Snapshot } from './snapshot.ts';

/** Columns to read from one data file. */
interface FileColumns {
  /** Absolute path. */
  readonly path: string;
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
  const known = last.get(fragment);
  if (known?.snapshot.deref() === snapshot && isSame(known.columns, columns)) return known.plan;
  const plan = newPlan(snapshot, fragment, columns);
  last.set(fragment, { snapshot: new WeakRef(snapshot), columns, plan });
  return plan;
}

function isSame(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((name, at) => name === others[at]);
}

function newPlan(snapshot: Snapshot, fragment: Fragment, columns: readonly string[]): ColumnPlan {
  const files: { path: string; places: number[] }[] = [];
  const found = columns.map((name) => placeOf(snapshot, fragment, name));
  const sources = found.map(({ path, place }) => {
    if (path === null) return null;
    const whole = join(snapshot.folder, path);
    const file = files.findIndex((known) => known.path === whole);
    if (file < 0) return { file: files.push({ path: whole, places: [place] }) - 1, place };
    const places = files[file]?.places ?? [];
    if (!places.includes(place)) places.push(place);
    return { file, place };
  });
  const fields = found.map(({ field }) => field);
  return { schema: schemaOf(fields, snapshot.schema.metadata), files, sources };
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
  const file = fragment.files.find(({ fields }) => fields.includes(id));
  return { field, path: file?.path ?? null, place: file?.fields.indexOf(id) ?? -1 };
}
