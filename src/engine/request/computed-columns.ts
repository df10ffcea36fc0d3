import { Field, Float32, Int32, Uint64, type Schema } from 'apache-arrow';

/** Columns that a row has by where it lies in its table. */
export const ROW_ID = new Field('_rowid', new Uint64(), true);
export const ROW_OFFSET = new Field('_rowoffset', new Uint64(), true);

/** Columns that a row gets from a search. */
export const DISTANCE = new Field('_distance', new Float32(), true);
export const SCORE = new Field('_score', new Float32(), true);
export const QUERY_INDEX = new Field('query_index', new Int32(), false);

/** The columns to read for some work: those in the files, and those that follow from a row's place. */
export interface ColumnNeed {
  readonly stored: readonly string[];
  readonly placed: readonly Field[];
}

export const NO_COLUMNS: ColumnNeed = { stored: [], placed: [] };

/** What every row has by its place. */
const OF_PLACE: readonly Field[] = [ROW_ID, ROW_OFFSET];

/** The fields of a table and what can be computed beside them; a column of the table hides a computed one. */
export function withComputed(schema: Schema, computed: readonly Field[]): readonly Field[] {
  const names = new Set(schema.fields.map((field) => field.name));
  return [...schema.fields, ...computed.filter((field) => !names.has(field.name))];
}

/** The same list for the same schema, so that what is known of it is not found out again. */
const rowFields = new WeakMap<Schema, readonly Field[]>();

/** The fields that every row of a table has: those of the table, and what it has by its place. */
export function rowFieldsOf(schema: Schema): readonly Field[] {
  const fields = rowFields.get(schema) ?? withComputed(schema, OF_PLACE);
  rowFields.set(schema, fields);
  return fields;
}

/** What must be read so that columns of these names are there. */
export function needOf(schema: Schema, names: Iterable<string>): ColumnNeed {
  const wanted = new Set(names);
  const stored = schema.fields.map((field) => field.name).filter((name) => wanted.has(name));
  const placed = rowFieldsOf(schema)
    .slice(schema.fields.length)
    .filter((field) => wanted.has(field.name));
  return { stored, placed };
}

/** What a need asks for beyond another that is met. */
export function needBeyond(need: ColumnNeed, met: ColumnNeed): ColumnNeed {
  const stored = new Set(met.stored);
  return {
    stored: need.stored.filter((name) => !stored.has(name)),
    placed: need.placed.filter((field) => !met.placed.includes(field)),
  };
}
