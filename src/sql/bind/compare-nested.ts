import type { DataType } from 'apache-arrow';
import { kernelOf, boolType, type Bound, type Kernel } from '../evaluate/bound.ts';
import { coerce, commonOfTwo } from '../cast/coerce.ts';
import { isValid, newStates, statesColumn, truth, type Column } from '../values/column.ts';
import { listType } from './element.ts';
import type { ComparisonOperator } from '../values/expression.ts';
import { call } from '../evaluate/node.ts';
import { valueOrder } from '../compare/order.ts';
import { elementType, familyOf, isComputable } from '../values/types.ts';

const tests: Readonly<Record<ComparisonOperator, (order: number) => boolean>> = {
  '=': (order) => order === 0,
  '!=': (order) => order !== 0,
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
  'is distinct from': (order) => order !== 0,
  'is not distinct from': (order) => order === 0,
};

/** Compares lists or structs row by row; a null is UNKNOWN unless the operator takes it as a value. */
function compareNested(
  operator: ComparisonOperator,
  columns: readonly [Column, Column],
  type: DataType,
): Column {
  const [left, right] = columns;
  const [order, test] = [valueOrder(left, right, type), tests[operator]];
  const distinct = operator.startsWith('is');
  const states = newStates(left.length);
  for (let row = 0; row < states.length; row++) {
    const known = distinct || (isValid(left, row) && isValid(right, row));
    states[row] = !known ? truth.unknown : test(order(row, row)) ? truth.true : truth.false;
  }
  return statesColumn(states);
}

function nestedKernel(operator: ComparisonOperator): Kernel {
  return kernelOf(2, ([left, right], { types }) =>
    compareNested(operator, [left, right], types[0]),
  );
}

function isNested(type: DataType): boolean {
  const family = familyOf(type);
  return (family === 'list' || family === 'struct' || family === 'map') && isComputable(type);
}

/** Decimal-point numbers in a list literal take the float width of the other list. */
function commonElement(left: Bound, right: Bound): DataType | undefined {
  const [a, b] = [elementType(left.type), elementType(right.type)];
  if (familyOf(a) === 'float' && familyOf(b) === 'float' && left.kind !== right.kind) {
    return left.kind === 'literal' ? b : right.kind === 'literal' ? a : commonOfTwo(a, b);
  }
  return commonOfTwo(a, b);
}

/** The type in which two lists or two structs compare; undefined when there is none. */
export function commonNested(left: Bound, right: Bound): DataType | undefined {
  if (!isNested(left.type) || !isNested(right.type)) return undefined;
  if (familyOf(left.type) === 'list' && familyOf(right.type) === 'list') {
    const element = commonElement(left, right);
    return element === undefined ? undefined : listType(element);
  }
  return commonOfTwo(left.type, right.type);
}

/** A comparison of two lists or two structs; undefined for other operands, and for those that do not compare. */
export function bindNestedComparison(
  operator: ComparisonOperator,
  left: Bound,
  right: Bound,
  position: number,
): Bound | undefined {
  const type = commonNested(left, right);
  return type === undefined
    ? undefined
    : call({
        name: operator,
        type: boolType,
        arguments: [coerce(left, type), coerce(right, type)],
        kernel: nestedKernel(operator),
        position,
        fallible: false,
      });
}
