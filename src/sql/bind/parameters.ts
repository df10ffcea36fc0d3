import type { DataType, Vector } from 'apache-arrow';
import type { BoundLiteral } from '../evaluate/bound.ts';
import { SqlError } from '../values/sql-error.ts';
import { literal } from '../evaluate/node.ts';
import { readColumn } from '../values/read.ts';
import { scalarAt } from '../values/scalar.ts';
import { familyOf, isComputable, plainType, sqlTypeName } from '../values/types.ts';

/** Value of `$1` or `?` in an expression: the first row of an Arrow vector, with its type. */
export type Parameter = Vector;

/**
 * The value of a parameter as a literal. Throws SqlError `value` for one that was not
 * given or has no row, and `type` for a type that expressions do not compute with.
 */
export function bindParameter(
  number: number,
  parameters: readonly Parameter[] | undefined,
  position: number,
): BoundLiteral {
  const given = parameters?.[number - 1];
  if (given === undefined || given.length === 0) {
    const found = parameters === undefined ? 'none' : `${parameters.length}`;
    const message = `expected a value for parameter $${number}, found ${found} given`;
    throw new SqlError('value', message, position);
  }
  const type: DataType = plainType(given.type as DataType);
  if (!isComputable(type)) {
    const message = `expected a parameter that can be computed with, found ${sqlTypeName(type)}`;
    throw new SqlError('type', message, position);
  }
  const data = given.data.find(({ length }) => length > 0)!;
  return literal(type, scalarAt(readColumn(data), 0, familyOf(type) === 'text'), position);
}
