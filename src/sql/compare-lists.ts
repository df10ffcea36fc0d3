import type { DataType } from 'apache-arrow';
import type { Bound, Kernel } from './bound.ts';
import { boolType } from './bound.ts';
import { coerce, commonOfTwo } from './coerce.ts';
import type { ListColumn } from './column.ts';
import { isValid, newStates, statesColumn, truth } from './column.ts';
import { compareColumns } from './compare.ts';
import { listsOf, listType } from './element.ts';
import type { ComparisonOperator } from './expression.ts';
import { call } from './node.ts';
import { takeRows } from './take.ts';
import { elementType, familyOf, isComputable } from './types.ts';

/** How many elements are compared at once: a list may stand in many rows. */
const chunk = 65_536;

/** Whether each row's lists are equal: as long, and the same at each place. Nulls in them are alike. */
function equalLists(left: ListColumn, right: ListColumn): Uint8Array {
  const equal = new Uint8Array(left.length);
  let rows: number[] = [];
  let size = 0;
  for (let row = 0; row < equal.length; row++) {
    const length = left.ends[row]! - left.starts[row]!;
    if (length === right.ends[row]! - right.starts[row]!) {
      equal[row] = 1;
      rows.push(row);
      size += length;
    }
    if (size >= chunk || row === equal.length - 1) {
      compareElements(left, right, { rows, size }, equal);
      rows = [];
      size = 0;
    }
  }
  return equal;
}

/** Clears the rows whose elements are not the same. */
function compareElements(
  left: ListColumn,
  right: ListColumn,
  { rows, size }: { readonly rows: readonly number[]; readonly size: number },
  equal: Uint8Array,
): void {
  if (size === 0) {
    return;
  }
  const [own, other, owners] = [
    new Uint32Array(size),
    new Uint32Array(size),
    new Uint32Array(size),
  ];
  let at = 0;
  for (const row of rows) {
    for (let child = left.starts[row]!; child < left.ends[row]!; child++, at++) {
      own[at] = child;
      other[at] = right.starts[row]! + child - left.starts[row]!;
      owners[at] = row;
    }
  }
  const columns = [takeRows(left.child, own), takeRows(right.child, other)] as const;
  const same = compareColumns('is not distinct from', ...columns, [1n, 1n]).states;
  for (let element = 0; element < size; element++) {
    if (same[element] !== truth.true) {
      equal[owners[element]!] = 0;
    }
  }
}

function stateOf(operator: ComparisonOperator, equal: boolean, nulls: number): number {
  const distinct = operator.startsWith('is');
  if (nulls > 0 && !distinct) {
    return truth.unknown;
  }
  const same = nulls === 0 ? equal : nulls === 2;
  const wanted = operator === '=' || operator === 'is not distinct from';
  return same === wanted ? truth.true : truth.false;
}

function listKernel(operator: ComparisonOperator): Kernel {
  return ([first, second], { length }) => {
    const [left, right] = [listsOf(first!), listsOf(second!)];
    const equal = equalLists(left, right);
    const states = newStates(length);
    for (let row = 0; row < length; row++) {
      const nulls = Number(!isValid(left, row)) + Number(!isValid(right, row));
      states[row] = stateOf(operator, equal[row] === 1, nulls);
    }
    return statesColumn(states);
  };
}

/** Numbers with a point in a list that is written out take the width of the list beside it. */
function commonElement(left: Bound, right: Bound): DataType | undefined {
  const [a, b] = [elementType(left.type), elementType(right.type)];
  if (familyOf(a) === 'float' && familyOf(b) === 'float' && left.kind !== right.kind) {
    return left.kind === 'literal' ? b : right.kind === 'literal' ? a : commonOfTwo(a, b);
  }
  return commonOfTwo(a, b);
}

const operators: ReadonlySet<ComparisonOperator> = new Set([
  '=',
  '!=',
  'is distinct from',
  'is not distinct from',
]);

/** Whether two lists are equal; undefined for other operators, and for elements that do not compare. */
export function bindListComparison(
  operator: ComparisonOperator,
  left: Bound,
  right: Bound,
  position: number,
): Bound | undefined {
  const lists = [left, right].every(({ type }) => familyOf(type) === 'list' && isComputable(type));
  const element = lists && operators.has(operator) ? commonElement(left, right) : undefined;
  if (element === undefined || familyOf(element) === 'list') {
    return undefined;
  }
  return call({
    name: operator,
    type: boolType,
    arguments: [left, right].map((list) => coerce(list, listType(element))),
    kernel: listKernel(operator),
    position,
    fallible: false,
  });
}
