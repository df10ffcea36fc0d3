import type { Field, Schema } from 'apache-arrow';
import { typeName } from '../../../arrow/types.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import { columnPath, type ColumnPath } from '../../request/column-path.ts';
import { needOf, type ColumnNeed } from '../../request/computed-columns.ts';
import type { OrderTerm } from '../../request/columns-field.ts';
import { hasOrder } from './order-of-values.ts';

/** One key that rows are sorted by. */
export interface SortKey {
  readonly path: ColumnPath;
  readonly ascending: boolean;
  readonly nullsFirst: boolean;
}

/** Order of rows: by each key in turn, finally by position. */
export interface SortPlan {
  readonly keys: readonly SortKey[];
  /** The top-level columns that the keys read. */
  readonly columns: readonly string[];
  readonly need: ColumnNeed;
}

/**
 * Plans the order of an answer; null for table order.
 * @throws CatalogError TableColumnNotFound; InvalidInput for a type without an order.
 */
export function planSort(
  terms: readonly OrderTerm[],
  schema: Schema,
  fields: readonly Field[],
): SortPlan | null {
  if (terms.length === 0) return null;
  const keys = terms.map((term) => sortKey(term, fields));
  const columns = keys.map(({ path }) => path.column);
  return { keys, columns, need: needOf(schema, columns) };
}

function sortKey({ column, ascending, nullsFirst }: OrderTerm, fields: readonly Field[]): SortKey {
  const path = columnPath(column, fields);
  const { type } = path.field;
  if (hasOrder(type)) return { path, ascending, nullsFirst };
  throw new CatalogError(
    'InvalidInput',
    `order_by cannot sort by ${JSON.stringify(column)}: its type is ${typeName(type)}`,
  );
}
