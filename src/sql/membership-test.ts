import type { Data, Field } from 'apache-arrow';
import { boolType, type BoundExpression } from './evaluate/bound.ts';
import { membershipOf } from './compare/membership.ts';
import { readColumn } from './values/read.ts';
import { scalarAt, type Scalar } from './values/scalar.ts';
import { plainType } from './values/types.ts';

/**
 * A predicate that is true where a column has one of some values: as `column IN (...)` would
 * be, of values that nobody has to write down. Nulls among them count for nothing.
 * @param values Of the column's type.
 */
export function membershipTest({ name, type }: Field, values: Data): BoundExpression {
  const column = readColumn(values);
  const members: Scalar[] = [];
  for (let row = 0; row < column.length; row++) {
    const value = scalarAt(column, row, false);
    if (value !== null) members.push(value);
  }
  const position = 1;
  const operand = {
    kind: 'column',
    name,
    stored: type,
    type: plainType(type),
    position,
    fallible: false,
  } as const;
  return {
    type: boolType,
    source: { kind: 'column', path: [{ text: name, quoted: true }], position },
    budget: undefined,
    root: {
      kind: 'in',
      type: boolType,
      operand,
      members: membershipOf(members),
      negated: false,
      position,
      fallible: false,
    },
  };
}
