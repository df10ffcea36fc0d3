import type { Field, Schema } from 'apache-arrow';
import type { Selection } from '../../request/columns-field.ts';
import { needOf, type ColumnNeed } from '../../request/computed-columns.ts';
import {
  columnsOf,
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
  /** What is read for them. */
  readonly need: ColumnNeed;
}

interface Kept extends AnsweredColumns {
  readonly fields: readonly Field[];
}

/** For each schema of a table so many answers are kept, of so many columns at most. */
const MOST_KEPT = 16;
const MOST_COLUMNS = 64;

const kept = new WeakMap<Schema, Map<string, Kept>>();

/**
 * The columns of an answer, as `planProjections` finds them. Columns that are asked for by name
 * depend on the table's schema alone: a repeated request gets the same schema, which is
 * encoded already.
 * @throws CatalogError as `planProjections` does.
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
    return { projections, schema, need: needOf(table, columnsOf(projections)) };
  };
  const question = questionOf(selections, extras);
  if (question === undefined) return make();
  const answers = kept.get(table) ?? new Map<string, Kept>();
  const found = answers.get(question);
  if (found !== undefined && found.fields === fields) return found;
  const made = { ...make(), fields };
  if (answers.size >= MOST_KEPT) answers.clear();
  kept.set(table, answers.set(question, made));
  return made;
}

/** Undefined where the answer may depend on the moment, or is too large to be kept. */
function questionOf(selections: readonly Selection[] | null, extras: Extras): string | undefined {
  if ((selections?.length ?? 0) > MOST_COLUMNS) return undefined;
  if (selections?.some(({ kind }) => kind !== 'column') === true) return undefined;
  return JSON.stringify([selections?.map(({ name }) => name) ?? null, extras]);
}
