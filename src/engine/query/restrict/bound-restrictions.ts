import { Field, Schema } from 'apache-arrow';
import { OverBudget } from '../../../protocol/budget.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import type { ObjectPath } from '../../../protocol/identifier.ts';
import {
  closedByRestriction,
  type RestrictedColumn,
  type Restrictions,
} from '../../../protocol/restrictions.ts';
import type { Formula, Statement } from '../../base/statement.ts';
import { predicateFormula } from '../../request/formula.ts';
import { maskingOf, type Masking, type MaskUse } from './masks.ts';

/** A column that the caller sees. */
interface VisibleColumn {
  readonly field: Field;
  /** Null for the values themselves. */
  readonly masking: Masking | null;
}

/** Restrictions that fit the columns of a table. */
export interface BoundRestrictions {
  readonly restrictions: Restrictions;
  readonly object: ObjectPath;
  readonly statement: Statement;
  /** Columns that the caller sees, in the order of the table. */
  readonly schema: Schema;
  readonly columns: ReadonlyMap<string, VisibleColumn>;
  /** True for visible rows; null if all are. */
  readonly filter: Formula | null;
}

/** Metadata of columns that a client needs to read their values; anything else may tell of other columns. */
const EXTENSION = 'ARROW:extension:';

/**
 * Binds restrictions to the columns of a version of a table.
 * @throws CatalogError PermissionDenied for restrictions that do not fit them
 */
export function bindRestrictions(
  schema: Schema,
  restrictions: Restrictions,
  object: ObjectPath,
  use: MaskUse,
): BoundRestrictions {
  const rules = new Map(restrictions.columns.map((rule) => [rule.column, rule]));
  const names = new Set(schema.fields.map(({ name }) => name));
  for (const { column, restriction } of rules.values()) {
    if (!names.has(column)) throw closedTable(restriction, object);
  }
  const columns = schema.fields.flatMap((field): readonly VisibleColumn[] => {
    const rule = rules.get(field.name);
    return rule?.as === 'hidden' ? [] : [visibleColumn(field, rule, object, use)];
  });
  return {
    restrictions,
    object,
    statement: use.statement,
    schema: new Schema(columns.map(({ field }) => field)),
    columns: new Map(columns.map((column) => [column.field.name, column])),
    filter: filterOf(schema, restrictions, object, use),
  };
}

function visibleColumn(
  { name, type, nullable, metadata }: Field,
  rule: RestrictedColumn | undefined,
  object: ObjectPath,
  use: MaskUse,
): VisibleColumn {
  const known = new Map([...metadata].filter(([key]) => key.startsWith(EXTENSION)));
  if (rule === undefined || rule.as === 'hidden') {
    return { field: new Field(name, type, nullable, known), masking: null };
  }
  const { as, restriction } = rule;
  const masking = fitting(restriction, object, () => maskingOf(as, type, use));
  if (masking === undefined) throw closedTable(restriction, object);
  return { field: new Field(name, type, nullable || masking.nulls, known), masking };
}

function filterOf(
  { fields }: Schema,
  { rows }: Restrictions,
  object: ObjectPath,
  { statement }: MaskUse,
): Formula | null {
  const [first] = rows;
  if (first === undefined) return null;
  const bind = (sql: string): Formula => predicateFormula('rows', sql, fields, statement);
  if (rows.length === 1) return fitting(first.restriction, object, () => bind(first.sql));
  // Each is bound alone first, so that none ends inside of another.
  for (const { restriction, sql } of rows) fitting(restriction, object, () => bind(sql));
  const all = rows.map(({ sql }) => `(${sql})`).join(' AND ');
  return fitting(first.restriction, object, () => bind(all));
}

/** The result of work with a restriction: its faults close the table, and tell nothing of its rows. */
export function fitting<Result>(
  restriction: string,
  object: ObjectPath,
  work: () => Result,
): Result {
  try {
    return work();
  } catch (error) {
    throw closing(error, restriction, object);
  }
}

/** Converts an error of a restriction to the refusal that the caller gets. It contains nothing of a row. */
export function closing(error: unknown, restriction: string, object: ObjectPath): unknown {
  if (!(error instanceof CatalogError) || error instanceof OverBudget) return error;
  return error.row.status >= 500 ? error : closedTable(restriction, object);
}

function closedTable(restriction: string, object: ObjectPath): CatalogError {
  return new CatalogError('PermissionDenied', closedByRestriction(restriction, object));
}
