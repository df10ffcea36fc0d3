import { describe, fieldError, flagField, type Fields } from './fields.ts';

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
