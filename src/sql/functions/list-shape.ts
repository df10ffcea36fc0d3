import { sizeAt, startAt } from '../../arrow/spans.ts';
import { Uint64 } from 'apache-arrow';
import { kernelOf, boolType, type Bound, type Kernel } from '../evaluate/bound.ts';
import { coerce } from '../cast/coerce.ts';
import {
  isValid,
  maskStates,
  newStates,
  statesColumn,
  truth,
  type Column,
  type ListColumn,
} from '../values/column.ts';
import { listType } from '../bind/element.ts';
import { listsOf } from '../values/lists.ts';
import { call } from '../evaluate/node.ts';
import { valueOrder } from '../compare/order.ts';
import { elementType, familyOf } from '../values/types.ts';
import { bigintsOf } from '../values/widen.ts';
import { checkCount, fitArgument, type FunctionCall, type FunctionRow } from './function-row.ts';
import { buildLists } from './list-builder.ts';
import { asList, emitList } from './list-change.ts';
import { listArgument, withValue } from './list.ts';
import { mapSizeRow } from './map.ts';

const countType = new Uint64();

/** Nesting depth of a list type. */
function depthOf(list: Bound): number {
  let depth = 0;
  for (let { type } = list; familyOf(type) === 'list'; type = elementType(type)) depth++;
  return depth;
}

/** Flattens one level of a list of lists. Null inner lists add nothing. */
const flattenKernel: Kernel = kernelOf(1, ([column], made) => {
  const outer = listsOf(column);
  const inner = listsOf(outer.child);
  return buildLists(inner.child, outer.valid, made, (row, emit) =>
    emitList(outer, row, (at) => (isValid(inner, at) ? emitList(inner, at, emit) : undefined)),
  );
});

function flattenOnce(
  list: Bound,
  { name, position }: Pick<FunctionCall, 'name' | 'position'>,
): Bound {
  const inner = listType(elementType(elementType(list.type)));
  const args = [coerce(list, listType(inner))];
  return call({
    name,
    type: inner,
    arguments: args,
    kernel: flattenKernel,
    position,
    fallible: true,
  });
}

/** A list without lists in it. */
export function flattened(list: Bound): Bound {
  return depthOf(list) > 1
    ? flattened(flattenOnce(list, { name: 'flatten', position: list.position }))
    : list;
}

const flattenUsage = 'flatten(list)';

const flattenRow: FunctionRow = {
  usage: flattenUsage,
  bind(made) {
    checkCount(flattenUsage, made, 1, 1);
    const list = listArgument(flattenUsage, made, 0);
    return depthOf(list) > 1 ? flattenOnce(list, made) : asList(list);
  },
};

/** Length of the lists at a depth, taken from the first list of each level; undefined if there is none. */
function lengthAt(lists: ListColumn, row: number, dimension: number): number | undefined {
  if (!isValid(lists, row)) return undefined;
  const size = sizeAt(lists, row);
  if (dimension === 1) return size;
  const inner = size === 0 || lists.child.kind !== 'list' ? undefined : lists.child;
  return inner === undefined ? undefined : lengthAt(inner, startAt(lists, row), dimension - 1);
}

const lengthKernel: Kernel = kernelOf(1, ([column, dimensions], { length }) => {
  const lists = listsOf(column);
  const wanted = dimensions === undefined ? undefined : bigintsOf(dimensions);
  const values = new BigUint64Array(length);
  const valid = new Uint8Array(length);
  for (let row = 0; row < length; row++) {
    const dimension = Number(wanted?.[row] ?? 1n);
    const known = dimensions === undefined || isValid(dimensions, row);
    const found = known && dimension >= 1 ? lengthAt(lists, row, dimension) : undefined;
    values[row] = BigInt(found ?? 0);
    valid[row] = found === undefined ? 0 : 1;
  }
  return { kind: 'bigint', length, values, valid };
});

const lengthUsage = 'array_length(list[, dimension])';

/** A list argument with any type of elements: the elements are not read. */
function anyList(usage: string, made: FunctionCall): Bound {
  const argument = made.arguments[0]!;
  return familyOf(argument.type) === 'list' ? argument : listArgument(usage, made, 0);
}

const lengthRow: FunctionRow = {
  usage: lengthUsage,
  bind(made) {
    checkCount(lengthUsage, made, 1, 2);
    const list = anyList(lengthUsage, made);
    const rest = made.arguments
      .slice(1)
      .map((each) => fitArgument(lengthUsage, 'integer', each, 2));
    return call({
      name: made.name,
      type: countType,
      arguments: [list, ...rest],
      kernel: lengthKernel,
      position: made.position,
      fallible: false,
    });
  },
};

/** The length of the list at each depth. */
const dimsKernel: Kernel = kernelOf(1, ([column], made) => {
  const lists = listsOf(column);
  const sizes: bigint[] = [];
  const [starts, ends] = [new Uint32Array(made.length), new Uint32Array(made.length)];
  for (let row = 0; row < made.length; row++) {
    starts[row] = sizes.length;
    for (let depth = 1; ; depth++) {
      const size = lengthAt(lists, row, depth);
      if (size === undefined || (depth === 1 && size === 0)) break;
      sizes.push(BigInt(size));
    }
    ends[row] = sizes.length;
  }
  const values = BigUint64Array.from(sizes);
  const child: Column = { kind: 'bigint', length: values.length, values, valid: null };
  const valid = starts.map((start, row) => (ends[row]! > start ? 1 : 0));
  const { length } = made;
  return { kind: 'list', length, child, starts, ends, valid: Uint8Array.from(valid) };
});

const ndimsKernel: Kernel = kernelOf(1, ([column], { length, types }) => {
  const { valid } = listsOf(column);
  let depth = 0n;
  for (let type = types[0]; familyOf(type) === 'list'; type = elementType(type)) depth++;
  return { kind: 'bigint', length, values: new BigUint64Array(length).fill(depth), valid };
});

const emptyKernel: Kernel = kernelOf(1, ([column], { length }) => {
  const lists = listsOf(column);
  const states = newStates(length);
  for (let row = 0; row < length; row++) {
    states[row] = lists.ends[row] === lists.starts[row] ? truth.true : truth.false;
  }
  maskStates(states, lists.valid);
  return statesColumn(states);
});

function shapeRow(usage: string, type: Bound['type'], kernel: Kernel): FunctionRow {
  return {
    usage,
    bind(made) {
      checkCount(usage, made, 1, 1);
      const args = [anyList(usage, made)];
      const { name, position } = made;
      return call({ name, type, arguments: args, kernel, position, fallible: false });
    },
  };
}

const positionsUsage = 'array_positions(list, value)';

/** All positions of a value, counted from 1; null matches null. */
const positionsKernel: Kernel = kernelOf(2, ([column, value], made) => {
  const lists = listsOf(column);
  const order = valueOrder(lists.child, value, made.types[1]);
  let longest = 0;
  for (let row = 0; row < made.length; row++) {
    longest = Math.max(longest, sizeAt(lists, row));
  }
  const places = BigUint64Array.from({ length: longest }, (_, at) => BigInt(at + 1));
  const child: Column = { kind: 'bigint', length: longest, values: places, valid: null };
  return buildLists(child, lists.valid, made, (row, emit) =>
    emitList(lists, row, (at) =>
      order(at, row) === 0 ? emit(at - startAt(lists, row)) : undefined,
    ),
  );
});

const positionsRow: FunctionRow = {
  usage: positionsUsage,
  bind(made) {
    checkCount(positionsUsage, made, 2, 2);
    const list = listArgument(positionsUsage, made, 0);
    return call({
      name: made.name,
      type: listType(countType),
      arguments: withValue(positionsUsage, list, made.arguments[1], 2),
      kernel: positionsKernel,
      position: made.position,
      fallible: true,
    });
  },
};

/** For a map the number of its entries. */
const cardinalityRow: FunctionRow = {
  usage: 'cardinality(list)',
  bind(made) {
    const isMap = made.arguments.length === 1 && familyOf(made.arguments[0]!.type) === 'map';
    return (isMap ? mapSizeRow : lengthRow).bind(made);
  },
};

const dimsRow = shapeRow('array_dims(list)', listType(countType), dimsKernel);
const ndimsRow = shapeRow('array_ndims(list)', countType, ndimsKernel);
const emptyRow = shapeRow('array_empty(list)', boolType, emptyKernel);

/** Functions of the length and depth of lists, and of positions in them. */
export const listShapeFunctions: Readonly<Record<string, FunctionRow>> = {
  array_length: lengthRow,
  list_length: lengthRow,
  cardinality: cardinalityRow,
  array_dims: dimsRow,
  list_dims: dimsRow,
  array_ndims: ndimsRow,
  list_ndims: ndimsRow,
  array_empty: emptyRow,
  list_empty: emptyRow,
  empty: emptyRow,
  flatten: flattenRow,
  array_positions: positionsRow,
  list_positions: positionsRow,
};
