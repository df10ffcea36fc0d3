import type { JsonValue } from '../../protocol/json.ts';
import { describe, fieldError, flagField, type Fields } from '../base/fields.ts';

/** One column of an answer: a column of the table by name, or an expression under an alias. */
export type Selection =
  | { readonly kind: 'column'; readonly name: string }
  | { readonly kind: 'expression'; readonly name: string; readonly text: string };

/**
 * The field `columns` in every form that clients send: absent, null or an empty
 * object for all columns; an array of names; an object of expressions by alias;
 * and both of them wrapped as `column_names` and `column_aliases`.
 */
export function columnsField(fields: Fields): readonly Selection[] | null {
  const value = fields['columns'];
  if (value === undefined || value === null) return null;
  if (Array.isArray(value)) return names(value, 'columns');
  if (typeof value !== 'object') {
    throw fieldError('columns', 'a list or an object', describe(value));
  }
  return isWrapper(value) ? wrapped(value) : aliases(value, 'columns');
}

/** A wrapper's values are never text, an expression always is: an alias may be called `column_names`. */
function isWrapper(value: Fields): boolean {
  return (
    Object.keys(value).length === 0 ||
    isWrapped(value['column_names']) ||
    isWrapped(value['column_aliases'])
  );
}

function isWrapped(value: JsonValue | undefined): boolean {
  return value !== undefined && typeof value === 'object';
}

function wrapped(value: Fields): readonly Selection[] | null {
  const listed = value['column_names'] ?? null;
  const aliased = value['column_aliases'] ?? null;
  if (listed !== null && aliased !== null) {
    throw fieldError('columns', 'column_names or column_aliases', 'both');
  }
  if (listed !== null) return names(listed, 'columns.column_names');
  return aliased === null ? null : aliases(aliased, 'columns.column_aliases');
}

function names(value: JsonValue, field: string): readonly Selection[] {
  if (!Array.isArray(value)) throw fieldError(field, 'a list of names', describe(value));
  return value.map((name, index) => {
    if (typeof name !== 'string')
      throw fieldError(`${field}[${index}]`, 'a string', describe(name));
    return { kind: 'column', name };
  });
}

function aliases(value: JsonValue, field: string): readonly Selection[] {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    throw fieldError(field, 'an object of expressions', describe(value));
  }
  return Object.entries(value).map(([name, text]) => {
    if (typeof text !== 'string') {
      throw fieldError(`${field}.${name}`, 'an expression in a string', describe(text));
    }
    return { kind: 'expression', name, text };
  });
}

/** One column that rows are sorted by. */
export interface OrderTerm {
  readonly column: string;
  readonly ascending: boolean;
  readonly nullsFirst: boolean;
}

/** The field `order_by`: `[{"column_name", "ascending", "nulls_first"}]`, or null for no order. */
export function orderField(fields: Fields): readonly OrderTerm[] {
  const value = fields['order_by'];
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw fieldError('order_by', 'a list', describe(value));
  return value.map((term, index) => {
    if (term === null || typeof term !== 'object' || Array.isArray(term)) {
      throw fieldError(`order_by[${index}]`, 'an object', describe(term));
    }
    return orderTerm(term, `order_by[${index}]`);
  });
}

function orderTerm(term: Fields, name: string): OrderTerm {
  const column = term['column_name'];
  if (typeof column !== 'string') {
    throw fieldError(`${name}.column_name`, 'a string', describe(column));
  }
  const flag = (key: string, absent: boolean) =>
    flagField({ [`${name}.${key}`]: term[key] }, `${name}.${key}`, absent);
  const ascending = flag('ascending', true);
  return { column, ascending, nullsFirst: flag('nulls_first', !ascending) };
}
