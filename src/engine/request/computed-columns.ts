import { Field, Float32, Int32, Uint64, type Schema } from 'apache-arrow';

/** Columns derived from the position of a row. */
export const ROW_ID = new Field('_rowid', new Uint64(), true);
export const ROW_OFFSET = new Field('_rowoffset', new Uint64(), true);

/** Columns added by a search. */
export const DISTANCE = new Field('_distance', new Float32(), true);
export const SCORE = new Field('_score', new Float32(), true);
export const QUERY_INDEX = new Field('query_index', new Int32(), false);

/** Columns to read: stored ones, and ones derived from positions. */
export interface ColumnNeed {
  readonly stored: readonly string[];
  readonly placed: readonly Field[];
}

export const NO_COLUMNS: ColumnNeed = { stored: [], placed: [] };

/** Fields derived from positions. */
const OF_PLACE: readonly Field[] = [ROW_ID, ROW_OFFSET];

/** Cached by schema, so that caches can be attached to the lists. */
const widened = new WeakMap<Schema, Map<string, readonly Field[]>>();

/**
 * The fields of a table and derived ones of this file; a stored column hides a derived one. The list is the
 * same one each time.
 */
export function withComputed(schema: Schema, computed: readonly Field[]): readonly Field[] {
  const key = computed.map(({ name }) => name).join();
  const lists = widened.get(schema) ?? new Map<string, readonly Field[]>();
  const fields = lists.get(key) ?? fieldsBeside(schema, computed);
  widened.set(schema, lists.set(key, fields));
  return fields;
}

function fieldsBeside(schema: Schema, computed: readonly Field[]): readonly Field[] {
  const names = new Set(schema.fields.map((field) => field.name));
  return [...schema.fields, ...computed.filter((field) => !names.has(field.name))];
}

const ofRows = new WeakMap<Schema, readonly Field[]>();

/** The fields of a table's rows: stored and derived ones. */
export function rowFieldsOf(schema: Schema): readonly Field[] {
  const cached = ofRows.get(schema);
  if (cached !== undefined) return cached;
  const fields = withComputed(schema, OF_PLACE);
  ofRows.set(schema, fields);
  return fields;
}

/** The columns to read to provide some columns. */
export function needOf(schema: Schema, names: Iterable<string>): ColumnNeed {
  const wanted = new Set(names);
  const stored = schema.fields.map((field) => field.name).filter((name) => wanted.has(name));
  const placed = rowFieldsOf(schema)
    .slice(schema.fields.length)
    .filter((field) => wanted.has(field.name));
  return { stored, placed };
}

/** The part of a need that another one does not cover. */
export function needBeyond(need: ColumnNeed, met: ColumnNeed): ColumnNeed {
  const stored = new Set(met.stored);
  return {
    stored: need.stored.filter((name) => !stored.has(name)),
    placed: need.placed.filter((field) => !met.placed.includes(field)),
  };
}
