import type { DataType } from 'apache-arrow';
import { Uint64 } from 'apache-arrow';
import type { Bound, Kernel } from '../bound.ts';
import { boolType } from '../bound.ts';
import { coerce, commonOfTwo } from '../coerce.ts';
import type { Column, ListColumn } from '../column.ts';
import { maskStates, newStates, statesColumn, truth } from '../column.ts';
import { compareColumns } from '../compare.ts';
import { bindList, bindListElement, listsOf, listType } from '../element.ts';
import { literalAs } from '../literals.ts';
import { call, nullLiteral } from '../node.ts';
import { scalarAt } from '../scalar.ts';
import { takeRows } from '../take.ts';
import { allValid } from '../text.ts';
import { elementType, familyOf, isComputable } from '../types.ts';
import type { FunctionCall, FunctionRow } from './function-row.ts';
import { checkCount, wrongArgument } from './function-row.ts';

/** A list argument; a null is a list of the type of `beside`. */
export function listArgument(usage: string, made: FunctionCall, at: number): Bound {
  const argument = made.arguments[at]!;
  if (familyOf(argument.type) === 'null') {
    return nullLiteral(listType(argument.type), argument.position);
  }
  if (familyOf(argument.type) !== 'list' || !isComputable(argument.type)) {
    throw wrongArgument(usage, 'a list of values', at + 1, argument);
  }
  return argument;
}

const lengthKernel: Kernel = ([column], { length }) => {
  const lists = listsOf(column!);
  const values = new BigUint64Array(length);
  for (let row = 0; row < length; row++) {
    values[row] = BigInt(lists.ends[row]! - lists.starts[row]!);
  }
  return { kind: 'bigint', length, values, valid: lists.valid };
};

const lengthUsage = 'array_length(list[, 1])';

/** Only the lists themselves are counted, not the lists in them. */
function checkDimension(dimension: Bound | undefined): void {
  if (dimension !== undefined && (dimension.kind !== 'literal' || dimension.value !== 1n)) {
    throw wrongArgument(lengthUsage, 'the dimension 1', 2, dimension);
  }
}

const lengthRow: FunctionRow = {
  usage: lengthUsage,
  bind(made) {
    checkCount(lengthUsage, made, 1, 2);
    checkDimension(made.arguments[1]);
    const argument = made.arguments[0]!;
    // Counts lists of any values: none of them is looked at.
    const list = familyOf(argument.type) === 'list' ? argument : listArgument(lengthUsage, made, 0);
    return call({
      name: made.name,
      type: new Uint64(),
      arguments: [list],
      kernel: lengthKernel,
      position: made.position,
      fallible: false,
    });
  },
};

/** For each element of all lists, in order: its row in the child, and the row of its list. */
export function elementRows(lists: ListColumn): {
  readonly children: Uint32Array;
  readonly owners: Uint32Array;
} {
  let size = 0;
  for (let row = 0; row < lists.length; row++) {
    size += lists.ends[row]! - lists.starts[row]!;
  }
  const children = new Uint32Array(size);
  const owners = new Uint32Array(size);
  for (let row = 0, at = 0; row < lists.length; row++) {
    for (let child = lists.starts[row]!; child < lists.ends[row]!; child++, at++) {
      children[at] = child;
      owners[at] = row;
    }
  }
  return { children, owners };
}

/** `array_has(list, value)`: an element that is null is not the value; a null value makes it UNKNOWN. */
const hasKernel: Kernel = ([column, value], { length }) => {
  const lists = listsOf(column!);
  const states = newStates(length);
  const { children, owners } = elementRows(lists);
  const found = compareColumns('=', takeRows(lists.child, children), takeRows(value!, owners), [
    1n,
    1n,
  ]).states;
  for (let at = 0; at < found.length; at++) {
    if (found[at] === truth.true) {
      states[owners[at]!] = truth.true;
    }
  }
  maskStates(states, allValid([lists, value!]));
  return statesColumn(states);
};

/** What two equal values have in common as the key of a set; nulls are alike here. */
function keysOf(column: Column): (row: number) => unknown {
  return (row) => {
    const value = scalarAt(column, row, false);
    return value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value;
  };
}

function keySet(lists: ListColumn, row: number, key: (row: number) => unknown): Set<unknown> {
  const keys = new Set<unknown>();
  for (let at = lists.starts[row]!; at < lists.ends[row]!; at++) {
    keys.add(key(at));
  }
  return keys;
}

/** The sets of a column's lists; one that stands in many rows, such as a literal, is made once. */
function setsOf(lists: ListColumn): (row: number) => Set<unknown> {
  const key = keysOf(lists.child);
  let last:
    | { readonly start: number; readonly end: number; readonly keys: Set<unknown> }
    | undefined;
  return (row) => {
    const [start, end] = [lists.starts[row]!, lists.ends[row]!];
    if (last?.start !== start || last.end !== end) {
      last = { start, end, keys: keySet(lists, row, key) };
    }
    return last.keys;
  };
}

function hasAny(keys: Set<unknown>, wanted: Set<unknown>): boolean {
  for (const key of keys) {
    if (wanted.has(key)) {
      return true;
    }
  }
  return false;
}

function hasAll(keys: Set<unknown>, wanted: Set<unknown>): boolean {
  for (const key of wanted) {
    if (!keys.has(key)) {
      return false;
    }
  }
  return true;
}

function setKernel(test: (keys: Set<unknown>, wanted: Set<unknown>) => boolean): Kernel {
  return ([left, right], { length }) => {
    const [lists, others] = [listsOf(left!), listsOf(right!)];
    const [keys, wanted] = [setsOf(lists), setsOf(others)];
    const valid = allValid([lists, others]);
    const states = newStates(length);
    for (let row = 0; row < length; row++) {
      const open = valid === null || valid[row] === 1;
      states[row] = open && test(keys(row), wanted(row)) ? truth.true : truth.false;
    }
    maskStates(states, valid);
    return statesColumn(states);
  };
}

const hasUsage = 'array_has(list, value)';

const hasRow: FunctionRow = {
  usage: hasUsage,
  bind(made) {
    checkCount(hasUsage, made, 2, 2);
    const list = listArgument(hasUsage, made, 0);
    const value = made.arguments[1]!;
    const type = fitted(elementType(list.type), value);
    if (type === undefined || !isPlain(type)) {
      throw wrongArgument(hasUsage, `a value of the list's type`, 2, value);
    }
    const args = [coerce(list, sameElement(list, type)), coerce(value, type)];
    return call({
      name: made.name,
      type: boolType,
      arguments: args,
      kernel: hasKernel,
      position: made.position,
      fallible: false,
    });
  },
};

/** The element type when it holds the literal, otherwise what holds both. */
export function fitted(element: DataType, value: Bound): DataType | undefined {
  const exact =
    value.kind === 'literal' && familyOf(element) !== 'null'
      ? literalAs(value, element)
      : undefined;
  return exact === undefined ? commonOfTwo(element, value.type) : element;
}

/** Whether elements are told apart by their value; lists in lists are not. */
export function isPlain(element: DataType): boolean {
  return familyOf(element) !== 'list';
}

export function sameElement(list: Bound, type: DataType): DataType {
  return elementType(list.type) === type ? list.type : listType(type);
}

function setRow(
  usage: string,
  test: (keys: Set<unknown>, wanted: Set<unknown>) => boolean,
): FunctionRow {
  return {
    usage,
    bind(made) {
      checkCount(usage, made, 2, 2);
      const [left, right] = [listArgument(usage, made, 0), listArgument(usage, made, 1)];
      const element = commonElement(left, right);
      if (element === undefined || !isPlain(element)) {
        throw wrongArgument(usage, "a list of the other list's type", 2, right);
      }
      const args = [left, right].map((list) => coerce(list, sameElement(list, element)));
      return call({
        name: made.name,
        type: boolType,
        arguments: args,
        kernel: setKernel(test),
        position: made.position,
        fallible: false,
      });
    },
  };
}

function commonElement(left: Bound, right: Bound): DataType | undefined {
  return commonOfTwo(elementType(left.type), elementType(right.type));
}

const makeRow: FunctionRow = {
  usage: 'make_array(value, ...)',
  bind: (made) => bindList(made.arguments, made.position),
};

const elementUsage = 'array_element(list, place)';

const elementRow: FunctionRow = {
  usage: elementUsage,
  bind(made) {
    checkCount(elementUsage, made, 2, 2);
    const list = listArgument(elementUsage, made, 0);
    return bindListElement(list, made.arguments[1]!, made.position);
  },
};

const hasAnyRow = setRow('array_has_any(list, list)', hasAny);
const hasAllRow = setRow('array_has_all(list, list)', hasAll);

/** Functions of lists. */
export const listFunctions: Readonly<Record<string, FunctionRow>> = {
  array_length: lengthRow,
  list_length: lengthRow,
  cardinality: lengthRow,
  array_has: hasRow,
  array_contains: hasRow,
  list_has: hasRow,
  list_contains: hasRow,
  array_has_any: hasAnyRow,
  list_has_any: hasAnyRow,
  array_has_all: hasAllRow,
  list_has_all: hasAllRow,
  make_array: makeRow,
  make_list: makeRow,
  array_element: elementRow,
  list_element: elementRow,
};
