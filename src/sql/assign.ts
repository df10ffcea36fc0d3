import { DataType, type DataType as DataTypeClass } from 'apache-arrow';
import { bindExpression } from './bind.ts';
import type { Bound, BoundExpression, Kernel, KernelCall } from './bound.ts';
import { canCast, castKernel } from './cast.ts';
import type { RowValue } from './cast-values.ts';
import { conversionOf, formatFloat } from './cast-values.ts';
import type { BytesColumn, Column, ListColumn } from './column.ts';
import { isValid } from './column.ts';
import { SqlError } from './errors.ts';
import { evaluateNode } from './evaluate-node.ts';
import type { Expression } from './expression.ts';
import { constantFrame } from './frame.ts';
import { literalAs } from './literals.ts';
import { call } from './node.ts';
import { sameType } from './same-type.ts';
import { scalarAt } from './scalar.ts';
import type { Scope } from './scope.ts';
import type { Family } from './types.ts';
import { elementType, familyOf, isComputable, isList, plainType, typeName } from './types.ts';
import { requireUtc } from './zone.ts';

/** A number does not become a moment, nor a moment a number, without being asked to. */
const kinds: readonly ReadonlySet<Family>[] = [
  new Set<Family>(['boolean', 'integer', 'float', 'decimal']),
  new Set<Family>(['date', 'timestamp']),
  new Set<Family>(['time']),
  new Set<Family>(['duration']),
  new Set<Family>(['text', 'binary']),
];

function isAssignable(from: DataTypeClass, to: DataTypeClass): boolean {
  const [a, b] = [familyOf(from), familyOf(to)];
  if (a === 'list' && b === 'list') {
    return isAssignable(elementType(from), elementType(to));
  }
  const alike = kinds.some((kind) => kind.has(a) && kind.has(b));
  return (alike || a === 'null' || a === 'text' || b === 'text') && canCast(from, to);
}

/** Floats are rounded to the nearest of the other width, as decimals are; nothing else may change. */
function mayRound(from: Family, to: Family): boolean {
  return to === 'float' && (from === 'float' || from === 'decimal');
}

const exactFamilies: ReadonlySet<Family> = new Set<Family>([
  'boolean',
  'integer',
  'float',
  'decimal',
  'date',
  'timestamp',
  'time',
  'duration',
]);

function changed(value: RowValue, { types, type, position }: KernelCall): SqlError {
  const shown = typeof value === 'number' ? formatFloat(value) : String(value);
  const from = typeName(types[0]!);
  return new SqlError(
    'overflow',
    `expected a value that ${typeName(type)} can hold, found ${shown} of ${from}`,
    position,
  );
}

/** Throws SqlError `overflow` for the first value that is another one when it is converted back. */
function checkSame(before: Column, after: Column, target: KernelCall): void {
  const [from] = target.types;
  const [a, b] = [familyOf(from!), familyOf(target.type)];
  if (before.kind === 'list' && after.kind === 'list') {
    const types = [elementType(from!)];
    const type = elementType(target.type);
    checkSame(before.child, after.child, { ...target, types, type, length: before.child.length });
    return;
  }
  if (!exactFamilies.has(a) || !exactFamilies.has(b) || mayRound(a, b)) {
    return;
  }
  const back = conversionOf(b, a)?.(target.type, from!);
  for (let row = 0; row < before.length; row++) {
    if (isValid(before, row)) {
      const value = scalarAt(before, row, false) as RowValue;
      const returned = back?.(scalarAt(after, row, false) as RowValue);
      if (returned !== value) {
        throw changed(value, target);
      }
    }
  }
}

/** Throws SqlError `value` for a list or a binary that is not as long as its type says. */
function checkSizes(column: Column, type: DataTypeClass, position: number): void {
  if (column.kind === 'bytes' && DataType.isFixedSizeBinary(type)) {
    checkSpans(column, type.byteWidth, `a binary of ${type.byteWidth} bytes`, position);
  }
  if (column.kind === 'list') {
    if (DataType.isFixedSizeList(type)) {
      checkSpans(column, type.listSize, `a list of ${type.listSize} values`, position);
    }
    checkSizes(column.child, elementType(type), position);
  }
}

function checkSpans(
  column: BytesColumn | ListColumn,
  size: number,
  expected: string,
  position: number,
): void {
  for (let row = 0; row < column.length; row++) {
    const found = column.ends[row]! - column.starts[row]!;
    if (found !== size && isValid(column, row)) {
      throw new SqlError('value', `expected ${expected}, found one of ${found}`, position);
    }
  }
}

const assignKernel: Kernel = ([column], target) => {
  const [from] = target.types;
  const converted = castKernel([column!], target);
  if (!sameType(from!, target.type)) {
    checkSame(column!, converted, target);
  }
  checkSizes(converted, target.type, target.position);
  return converted;
};

function refused(root: Bound, type: DataTypeClass): SqlError {
  return new SqlError(
    'type',
    `expected a value of type ${typeName(type)}, found ${typeName(root.type)}`,
    root.position,
  );
}

/** The value in the plain type of the column. */
function converted(root: Bound, type: DataTypeClass): Bound {
  const { position } = root;
  const direct = root.kind === 'literal' ? literalAs(root, type) : undefined;
  if (direct !== undefined && !isList(type) && !DataType.isFixedSizeBinary(type)) {
    return direct;
  }
  if (familyOf(type) === 'date' && familyOf(root.type) === 'timestamp') {
    requireUtc(root.type, `it becomes ${typeName(type)}`, position);
  }
  const parts = { name: 'assign', type, arguments: [root], kernel: assignKernel, position };
  const node = call({ ...parts, fallible: true });
  if (root.kind === 'literal' && node.kind !== 'literal') {
    evaluateNode(node, constantFrame(1));
  }
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
  scope: Scope,
  target: DataTypeClass,
): BoundExpression {
  const bound = bindExpression(expression, scope);
  const { root, source } = bound;
  if (familyOf(root.type) === 'null' || sameType(bound.type, target)) {
    return bound;
  }
  const type = plainType(target);
  const writable = isComputable(type) && (!isList(target) || type === target);
  if (!writable || !(sameType(root.type, type) || isAssignable(root.type, type))) {
    throw refused(root, target);
  }
  return Object.freeze({ type, source, root: converted(root, type) });
}
