import { DataType, type DataType as DataTypeClass } from 'apache-arrow';
import { bindExpression } from './bind.ts';
import { kernelOf, type Bound, type BoundExpression, type Kernel } from './evaluate/bound.ts';
import { canCast } from './cast/cast.ts';
import { SqlError } from './values/sql-error.ts';
import { evaluateNode } from './evaluate/evaluate-node.ts';
import type { Expression } from './values/expression.ts';
import { constantFrame } from './evaluate/frame.ts';
import { metered } from './values/meter.ts';
import { literalAs } from './cast/literals.ts';
import { call } from './evaluate/node.ts';
import { castExactly } from './cast/round-trip.ts';
import { sameType } from '../arrow/types.ts';
import type { ColumnScope } from './bind/scope.ts';
import {
  elementType,
  familyOf,
  isComputable,
  isList,
  mapTypes,
  plainType,
  sqlTypeName,
  type Family,
} from './values/types.ts';
import { checkClocks } from './values/zone-clock.ts';

/** Numbers and moments convert into each other only by an explicit cast. */
const kinds: readonly ReadonlySet<Family>[] = [
  new Set<Family>(['boolean', 'integer', 'float', 'decimal']),
  new Set<Family>(['date', 'timestamp']),
  new Set<Family>(['time']),
  new Set<Family>(['duration']),
  new Set<Family>(['text', 'binary']),
];

/** Struct fields are matched by name: a missing field becomes null, an extra one is an error. */
function assignsFields(from: DataTypeClass, to: DataTypeClass): boolean {
  return from.children.every(({ name, type }) => {
    const field = to.children.find((each) => each.name === name);
    return field !== undefined && (sameType(type, field.type) || isAssignable(type, field.type));
  });
}

function isAssignable(from: DataTypeClass, to: DataTypeClass): boolean {
  const [a, b] = [familyOf(from), familyOf(to)];
  if (a === 'list' && b === 'list') return isAssignable(elementType(from), elementType(to));
  if (a === 'struct' && b === 'struct') return assignsFields(from, to);
  if (a === 'map' && b === 'map') {
    return mapTypes(from).every((type, at) => isAssignable(type, mapTypes(to)[at]!));
  }
  const alike = kinds.some((kind) => kind.has(a) && kind.has(b));
  return (
    (sameType(from, to) || alike || a === 'null' || a === 'text' || b === 'text') &&
    canCast(from, to)
  );
}

/** Floats and decimals are rounded to the nearest value of the target; other values must stay exact. */
function mayRound(from: Family, to: Family): boolean {
  return to === 'float' && (from === 'float' || from === 'decimal');
}

const assignKernel: Kernel = kernelOf(1, ([column], target) =>
  castExactly(column, target.types[0], target, mayRound),
);

function refused(root: Bound, type: DataTypeClass): SqlError {
  return new SqlError(
    'type',
    `expected a value of type ${sqlTypeName(type)}, found ${sqlTypeName(root.type)}`,
    root.position,
  );
}

/** The value in the plain type of the column. */
function converted(root: Bound, type: DataTypeClass): Bound {
  const { position } = root;
  const direct = root.kind === 'literal' ? literalAs(root, type) : undefined;
  if (direct !== undefined && !isList(type) && !DataType.isFixedSizeBinary(type)) return direct;
  checkClocks(root.type, type, position);
  const parts = { name: 'assign', type, arguments: [root], kernel: assignKernel, position };
  const node = call({ ...parts, fallible: true });
  if (root.kind === 'literal' && node.kind !== 'literal') evaluateNode(node, constantFrame(1));
  return node;
}

/**
 * Checks an expression whose values go into a column of a type. They are converted
 * as CAST does where no value changes by it; what a type cannot hold is refused,
 * of literals at once. The bound expression is of the column's plain type, of
 * exactly its type where it only passes a column on, or null. Throws SqlError as
 * `bindExpression` does.
 */
export function bindAssignment(
  expression: Expression,
  scope: ColumnScope,
  target: DataTypeClass,
): BoundExpression {
  const bound = bindExpression(expression, scope);
  const { root, source, budget } = bound;
  if (familyOf(root.type) === 'null' || sameType(bound.type, target)) return bound;
  const type = plainType(target);
  const nested = isList(target) || DataType.isStruct(target) || DataType.isMap(target);
  const writable = isComputable(type) && (!nested || type === target);
  if (!writable || !(sameType(root.type, type) || isAssignable(root.type, type))) {
    throw refused(root, target);
  }
  const assigned = metered(budget, () => converted(root, type));
  return Object.freeze({ type, source, root: assigned, budget });
}
