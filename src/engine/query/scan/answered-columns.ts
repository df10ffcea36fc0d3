import type { Field, Schema } from 'apache-arrow';
import type { Selection } from '../../request/columns-field.ts';
import { needOf, type ColumnNeed } from '../../request/computed-columns.ts';
import {
  columnsRead,
  planProjections,
  projectedSchema,
  type Extras,
  type Projection,
} from './projection.ts';
import type { Statement } from '../../base/statement.ts';

/** The columns of an answer, and its schema. */
export interface AnsweredColumns {
  readonly projections: readonly Projection[];
  readonly schema: Schema;
  /** Columns to read for them. */
  readonly need: ColumnNeed;
}

interface CachedColumns extends AnsweredColumns {
  readonly fields: readonly Field[];
}

/** Cached answers per table schema, and columns per answer. */
const MOST_KEPT = 16;
const MOST_COLUMNS = 64;

const cache = new WeakMap<Schema, Map<string, CachedColumns>>();

/**
 * Columns of an answer, as from `planProjections`. Selections by name depend on the schema alone: a
 * repeated request gets a cached, encoded schema.
 * @throws CatalogError as `planProjections`.
 */
export function answeredColumns(
  selections: readonly Selection[] | null,
  table: Schema,
  fields: readonly Field[],
  extras: Extras,
  statement: Statement,
): AnsweredColumns {
  const make = (): AnsweredColumns => {
    const projections = planProjections(selections, table, fields, extras, statement);
    const schema = projectedSchema(projections, table);
    return { projections, schema, need: needOf(table, columnsRead(projections)) };
  };
  const question = questionOf(selections, extras);
  if (question === undefined) return make();
  const answers = cache.get(table) ?? new Map<string, CachedColumns>();
  const found = answers.get(question);
  if (found !== undefined && found.fields === fields) return found;
  const made = { ...make(), fields };
  if (answers.size >= MOST_KEPT) answers.clear();
  cache.set(table, answers.set(question, made));
  return made;
}

/** Undefined if the answer may depend on the time or is too large to cache. */
function questionOf(selections: readonly Selection[] | null, extras: Extras): string | undefined {
  if ((selections?.length ?? 0) > MOST_COLUMNS) return undefined;
  if (selections?.some(({ kind }) => kind !== 'column') === true) return undefined;
  const names = selections === null ? '' : `.${selections.map(({ name }) => name).join('\0')}`;
  const { distance, score, queryIndex, rowId } = extras;
  return `${distance}${score}${queryIndex}${rowId}${names}`;
}
