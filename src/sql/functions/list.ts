import { endAt, sizeAt, startAt } from '../../arrow/spans.ts';
import type { DataType } from 'apache-arrow';
import { kernelOf, boolType, type Bound, type Kernel } from '../evaluate/bound.ts';
import { coerce, commonOfTwo } from '../cast/coerce.ts';
import { maskStates, newStates, statesColumn, truth, type ListColumn } from '../values/column.ts';
import { bindList, bindListElement, listType } from '../bind/element.ts';
import { rowKeys, type Key } from '../values/keys.ts';
import { elementRows, listsOf } from '../values/lists.ts';
import { literalAs } from '../cast/literals.ts';
import { hold, spend } from '../values/meter.ts';
import { call, nullLiteral, nullType } from '../evaluate/node.ts';
import { valueOrder } from '../compare/order.ts';
import { allValid } from '../values/text.ts';
import { elementType, familyOf, isComputable } from '../values/types.ts';
import { checkCount, wrongArgument, type FunctionCall, type FunctionRow } from './function-row.ts';

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

/** `array_has(list, value)`: a null element never matches; UNKNOWN if the value is null. */
const hasKernel: Kernel = kernelOf(2, ([column, value], { length, types }) => {
  const lists = listsOf(column);
  const states = newStates(length);
  const { children, owners } = elementRows(lists);
  const order = valueOrder(lists.child, value, types[1]);
  for (let at = 0; at < owners.length; at++) {
    if (order(children[at]!, owners[at]!) === 0) states[owners[at]!] = truth.true;
  }
  maskStates(states, allValid([lists, value]));
  return statesColumn(states);
});

/** Approximate memory of one key in a set, in bytes. */
export const SET_BYTES = 100;

/** Work of one lookup in a set, in bytes. */
const SET_WORK = 32;

function keySet(lists: ListColumn, row: number, key: Key): Set<string> {
  hold(sizeAt(lists, row) * SET_BYTES);
  const keys = new Set<string>();
  for (let at = startAt(lists, row); at < endAt(lists, row); at++) keys.add(key(at));
  return keys;
}

/** The sets of a column's lists; a list that many rows share, such as a literal, is hashed once. */
function setsOf(lists: ListColumn, element: DataType): (row: number) => Set<string> {
  const key = rowKeys(lists.child, element);
  let last:
    | { readonly start: number; readonly end: number; readonly keys: Set<string> }
    | undefined;
  return (row) => {
    const [start, end] = [startAt(lists, row), endAt(lists, row)];
    if (last?.start !== start || last.end !== end) {
      last = { start, end, keys: keySet(lists, row, key) };
    }
    return last.keys;
  };
}

function hasAny(keys: Set<string>, wanted: Set<string>): boolean {
  for (const key of keys) {
    spend(SET_WORK);
    if (wanted.has(key)) return true;
  }
  return false;
}

function hasAll(keys: Set<string>, wanted: Set<string>): boolean {
  for (const key of wanted) {
    spend(SET_WORK);
    if (!keys.has(key)) return false;
  }
  return true;
}

/** Whether one set holds some of another, or all of it. */
type SetTest = (keys: Set<string>, wanted: Set<string>) => boolean;

function setKernel(test: SetTest): Kernel {
  return kernelOf(2, ([left, right], { length, types }) => {
    const [lists, others] = [listsOf(left), listsOf(right)];
    const element = elementType(types[0]);
    const [keys, wanted] = [setsOf(lists, element), setsOf(others, element)];
    const valid = allValid([lists, others]);
    const states = newStates(length);
    for (let row = 0; row < length; row++) {
      const open = valid === null || valid[row] === 1;
      states[row] = open && test(keys(row), wanted(row)) ? truth.true : truth.false;
    }
    maskStates(states, valid);
    return statesColumn(states);
  });
}

const hasUsage = 'array_has(list, value)';

const hasRow: FunctionRow = {
  usage: hasUsage,
  bind(made) {
    checkCount(hasUsage, made, 2, 2);
    const list = listArgument(hasUsage, made, 0);
    const value = made.arguments[1];
    const args = withValue(hasUsage, list, value, 2);
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

/** A list and a value in one type: the list's type if it can hold the value. */
export function withValue(
  usage: string,
  list: Bound,
  value: Bound,
  at: number,
): readonly [Bound, Bound] {
  const type = fitted(elementType(list.type), value);
  if (type === undefined) throw wrongArgument(usage, `a value of the list's type`, at, value);
  return [coerce(list, sameElement(list, type)), coerce(value, type)];
}

/** All arguments as lists of one type. */
export function sameLists(usage: string, made: FunctionCall): readonly Bound[] {
  const lists = made.arguments.map((_, at) => listArgument(usage, made, at));
  let element: DataType = nullType;
  for (const [at, list] of lists.entries()) {
    const common = commonOfTwo(element, elementType(list.type));
    if (common === undefined) {
      throw wrongArgument(usage, "a list of the other list's type", at + 1, list);
    }
    element = common;
  }
  return lists.map((list) => coerce(list, sameElement(list, element)));
}

/** The element type if it can hold the literal, otherwise a type that can hold both. */
function fitted(element: DataType, value: Bound): DataType | undefined {
  const exact =
    value.kind === 'literal' && familyOf(element) !== 'null'
      ? literalAs(value, element)
      : undefined;
  return exact === undefined ? commonOfTwo(element, value.type) : element;
}

function sameElement(list: Bound, type: DataType): DataType {
  return elementType(list.type) === type ? list.type : listType(type);
}

function setRow(usage: string, test: SetTest): FunctionRow {
  return {
    usage,
    bind(made) {
      checkCount(usage, made, 2, 2);
      const args = sameLists(usage, made);
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
    return bindListElement(list, made.arguments[1], made.position);
  },
};

const hasAnyRow = setRow('array_has_any(list, list)', hasAny);
const hasAllRow = setRow('array_has_all(list, list)', hasAll);

export const listFunctions: Readonly<Record<string, FunctionRow>> = {
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
  arrays_overlap: hasAnyRow,
  array_element: elementRow,
  array_extract: elementRow,
  list_element: elementRow,
  list_extract: elementRow,
};
