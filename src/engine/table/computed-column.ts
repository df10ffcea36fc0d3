import type { Field } from 'apache-arrow';

/** The entry of a field's metadata that holds the SQL from which the column is computed. */
const EXPRESSION = 'arrowgate.computed';

/** The SQL from which a column is computed; undefined for a column that holds what was sent. */
export function expressionOf(field: Field): string | undefined {
  return field.metadata.get(EXPRESSION);
}

/** A column with the SQL from which it is computed. */
export function computedFrom(field: Field, expression: string): Field {
  return field.clone({ metadata: new Map([...field.metadata, [EXPRESSION, expression]]) });
}
