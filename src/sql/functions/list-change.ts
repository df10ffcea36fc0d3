import { endAt, startAt } from '../../arrow/spans.ts';
import { appendAll } from '../values/append.ts';
import { kernelOf, type Bound, type Kernel, type KernelCall } from '../evaluate/bound.ts';
import { isValid, validOf, type Column, type ListColumn, type Valid } from '../values/column.ts';
import { coerce } from '../cast/coerce.ts';
import { listType } from '../bind/element.ts';
import { SqlError } from '../values/sql-error.ts';
import { listsOf } from '../values/lists.ts';
import { call, nullLiteral, nullType } from '../evaluate/node.ts';
import { spend } from '../values/meter.ts';
import { valueOrder, type Order } from '../compare/order.ts';
import { allValid } from '../values/text.ts';
import { elementType } from '../values/types.ts';
import { bigintsOf } from '../values/widen.ts';
import { checkCount, fitArgument, type FunctionRow } from './function-row.ts';
import { buildLists, tooManyElements, type Emit } from './list-builder.ts';
import { listArgument, sameLists, withValue } from './list.ts';
import { maxListElements } from '../values/limits.ts';

/** Appends all elements of a row's list to the current list. */
export function emitList(lists: ListColumn, row: number, emit: Emit): void {
  for (let at = startAt(lists, row); at < endAt(lists, row); at++) {
    spend(4);
    emit(at);
  }
}

/** Kernel that builds each list from elements of the same list, as `make` chooses. */
function ownElements(
  make: (lists: ListColumn, row: number, emit: Emit, order: Order) => void,
): Kernel {
  return kernelOf(1, ([column], made) => {
    const lists = listsOf(column);
    const order = valueOrder(lists.child, lists.child, elementType(made.type));
    return buildLists(lists.child, lists.valid, made, (row, emit) => make(lists, row, emit, order));
  });
}

/** The row of a function from one list to a list of the same type. */
export function ownRow(usage: string, kernel: Kernel): FunctionRow {
  return {
    usage,
    bind(made) {
      checkCount(usage, made, 1, 1);
      const list = asList(listArgument(usage, made, 0));
      const { name, position } = made;
      return call({ name, type: list.type, arguments: [list], kernel, position, fallible: true });
    },
  };
}

/** A fixed-size list as a list of any size. */
export function asList(list: Bound): Bound {
  return coerce(list, listType(elementType(list.type)));
}

/** Null lists count as empty. */
function addKernel(before: boolean): Kernel {
  return kernelOf(2, ([column, value], made) => {
    const lists = listsOf(column);
    const elements = appendAll([lists.child, value]);
    return buildLists(elements, null, made, (row, emit) => {
      if (before) emit(lists.child.length + row);
      if (isValid(lists, row)) emitList(lists, row, emit);
      if (!before) emit(lists.child.length + row);
    });
  });
}

function addRow(usage: string, before: boolean): FunctionRow {
  const [listAt, valueAt] = before ? [1, 0] : [0, 1];
  return {
    usage,
    bind(made) {
      checkCount(usage, made, 2, 2);
      const list = asList(listArgument(usage, made, listAt));
      const args = withValue(usage, list, made.arguments[valueAt]!, valueAt + 1);
      const { name, position } = made;
      const kernel = addKernel(before);
      return call({ name, type: args[0].type, arguments: args, kernel, position, fallible: true });
    },
  };
}

/** Null lists are ignored; the result is null only if all are null. */
const concatKernel: Kernel = (columns, made) => {
  const all = columns.map(listsOf);
  const some = Uint8Array.from({ length: made.length }, (_, row) =>
    all.some((lists) => isValid(lists, row)) ? 1 : 0,
  );
  const offsets = all.map((_, at) =>
    all.slice(0, at).reduce((sum, { child }) => sum + child.length, 0),
  );
  return buildLists(appendAll(all.map(({ child }) => child)), some, made, (row, emit) => {
    for (const [at, lists] of all.entries()) {
      if (isValid(lists, row)) emitList(lists, row, (element) => emit(offsets[at]! + element));
    }
  });
};

const concatUsage = 'array_concat(list, ...)';

const concatRow: FunctionRow = {
  usage: concatUsage,
  bind(made) {
    checkCount(concatUsage, made, 1, Infinity);
    const args = sameLists(concatUsage, made).map(asList);
    const { name, position } = made;
    const { type } = args[0]!;
    return call({ name, type, arguments: args, kernel: concatKernel, position, fallible: true });
  },
};

/** Maximum number of elements to remove or replace: all, one, or given by an argument. */
type Times = 'one' | 'all' | 'counted';

function timesOf(times: Times, counts: Column | undefined): (row: number) => number {
  const given = times === 'counted' && counts !== undefined ? bigintsOf(counts) : undefined;
  const fixed = times === 'one' ? 1 : Infinity;
  return (row) => (given === undefined ? fixed : Number(given[row]));
}

const removeKernel = (times: Times): Kernel =>
  kernelOf(2, ([column, value, counts], made) => {
    const lists = listsOf(column);
    const order = valueOrder(lists.child, value, made.types[1]);
    const times_ = timesOf(times, counts);
    const valid = allValid([lists, value, ...(counts === undefined ? [] : [counts])]);
    return buildLists(lists.child, valid, made, (row, emit) => {
      let left = times_(row);
      emitList(lists, row, (element) => {
        const goes = left > 0 && order(element, row) === 0;
        left -= goes ? 1 : 0;
        if (!goes) emit(element);
      });
    });
  });

const replaceKernel = (times: Times): Kernel =>
  kernelOf(3, ([column, from, to, counts], made) => {
    const lists = listsOf(column);
    const order = valueOrder(lists.child, from, made.types[1]);
    const times_ = timesOf(times, counts);
    const valid = allValid(counts === undefined ? [lists] : [lists, counts]);
    return buildLists(appendAll([lists.child, to]), valid, made, (row, emit) => {
      let left = times_(row);
      emitList(lists, row, (element) => {
        const goes = left > 0 && order(element, row) === 0;
        left -= goes ? 1 : 0;
        emit(goes ? lists.child.length + row : element);
      });
    });
  });

function removeRow(name: string, times: Times): FunctionRow {
  const usage = `${name}(list, value${times === 'counted' ? ', count' : ''})`;
  const count = times === 'counted' ? 3 : 2;
  return {
    usage,
    bind(made) {
      checkCount(usage, made, count, count);
      const list = asList(listArgument(usage, made, 0));
      const args = withValue(usage, list, made.arguments[1], 2);
      const counts = made.arguments.slice(2).map((each) => fitArgument(usage, 'integer', each, 3));
      return call({
        name: made.name,
        type: args[0].type,
        arguments: [...args, ...counts],
        kernel: removeKernel(times),
        position: made.position,
        fallible: true,
      });
    },
  };
}

function replaceRow(name: string, times: Times): FunctionRow {
  const usage = `${name}(list, from, to${times === 'counted' ? ', count' : ''})`;
  const count = times === 'counted' ? 4 : 3;
  return {
    usage,
    bind(made) {
      checkCount(usage, made, count, count);
      const [, from, to] = made.arguments;
      const [wide] = withValue(usage, asList(listArgument(usage, made, 0)), to, 3);
      const [list, sought] = withValue(usage, wide, from, 2);
      const [, put] = withValue(usage, list, to, 3);
      const counts = made.arguments.slice(3).map((each) => fitArgument(usage, 'integer', each, 4));
      return call({
        name: made.name,
        type: list.type,
        arguments: [list, sought, put, ...counts],
        kernel: replaceKernel(times),
        position: made.position,
        fallible: true,
      });
    },
  };
}

/** A size of a list. Throws SqlError `value` below 0 and `limit` above what a batch may have. */
function wantedSize(sizes: ArrayLike<bigint>, row: number, made: KernelCall): number {
  const size = sizes[row]!;
  if (size < 0n) {
    const message = `expected a size of 0 or more in ${made.name}, found ${size}`;
    throw new SqlError('value', message, made.position);
  }
  if (size > maxListElements) throw tooManyElements(made);
  return Number(size);
}

const resizeKernel: Kernel = kernelOf(3, ([column, sizes, filler], made) => {
  const lists = listsOf(column);
  const wanted = bigintsOf(sizes);
  const valid = allValid([lists, sizes]);
  return buildLists(appendAll([lists.child, filler]), valid, made, (row, emit) => {
    const size = wantedSize(wanted, row, made);
    for (let at = 0; at < size; at++) {
      const element = startAt(lists, row) + at;
      emit(element < endAt(lists, row) ? element : lists.child.length + row);
    }
  });
});

const resizeUsage = 'array_resize(list, size[, value])';

const resizeRow: FunctionRow = {
  usage: resizeUsage,
  bind(made) {
    checkCount(resizeUsage, made, 2, 3);
    const list = asList(listArgument(resizeUsage, made, 0));
    const size = fitArgument(resizeUsage, 'integer', made.arguments[1], 2);
    const filler = made.arguments[2] ?? nullLiteral(nullType, made.position);
    const [wide, value] = withValue(resizeUsage, list, filler, 3);
    return call({
      name: made.name,
      type: wide.type,
      arguments: [wide, size, value],
      kernel: resizeKernel,
      position: made.position,
      fallible: true,
    });
  },
};

const repeatUsage = 'array_repeat(value, count)';

const repeatKernel: Kernel = kernelOf(2, ([value, counts], made) => {
  const wanted = bigintsOf(counts);
  return buildLists(value, validOf(counts), made, (row, emit) => {
    const size = wantedSize([wanted[row]! < 0n ? 0n : wanted[row]!], 0, made);
    for (let at = 0; at < size; at++) emit(row);
  });
});

const repeatRow: FunctionRow = {
  usage: repeatUsage,
  bind(made) {
    checkCount(repeatUsage, made, 2, 2);
    const value = made.arguments[0];
    const count = fitArgument(repeatUsage, 'integer', made.arguments[1], 2);
    const { name, position } = made;
    const type = listType(value.type);
    const args = [value, count];
    return call({ name, type, arguments: args, kernel: repeatKernel, position, fallible: true });
  },
};

const reverseKernel = ownElements((lists, row, emit) => {
  for (let at = endAt(lists, row) - 1; at >= startAt(lists, row); at--) emit(at);
});

/** The spans without the first or the last element. */
function popKernel(front: boolean): Kernel {
  return kernelOf(1, ([column], { length }) => {
    const lists = listsOf(column);
    const least = (row: number): number => Math.min(endAt(lists, row), startAt(lists, row) + 1);
    const most = (row: number): number => Math.max(startAt(lists, row), endAt(lists, row) - 1);
    const moved = Uint32Array.from({ length }, (_, row) => (front ? least(row) : most(row)));
    const valid: Valid = lists.valid;
    return { ...lists, ...(front ? { starts: moved } : { ends: moved }), valid };
  });
}

const appendRow = addRow('array_append(list, value)', false);
const prependRow = addRow('array_prepend(value, list)', true);

/** Functions that change the elements of a list. */
export const listChangeFunctions: Readonly<Record<string, FunctionRow>> = {
  array_append: appendRow,
  list_append: appendRow,
  array_push_back: appendRow,
  list_push_back: appendRow,
  array_prepend: prependRow,
  list_prepend: prependRow,
  array_push_front: prependRow,
  list_push_front: prependRow,
  array_concat: concatRow,
  array_cat: concatRow,
  list_concat: concatRow,
  list_cat: concatRow,
  array_remove: removeRow('array_remove', 'one'),
  list_remove: removeRow('list_remove', 'one'),
  array_remove_n: removeRow('array_remove_n', 'counted'),
  list_remove_n: removeRow('list_remove_n', 'counted'),
  array_remove_all: removeRow('array_remove_all', 'all'),
  list_remove_all: removeRow('list_remove_all', 'all'),
  array_replace: replaceRow('array_replace', 'one'),
  list_replace: replaceRow('list_replace', 'one'),
  array_replace_n: replaceRow('array_replace_n', 'counted'),
  list_replace_n: replaceRow('list_replace_n', 'counted'),
  array_replace_all: replaceRow('array_replace_all', 'all'),
  list_replace_all: replaceRow('list_replace_all', 'all'),
  array_resize: resizeRow,
  list_resize: resizeRow,
  array_repeat: repeatRow,
  list_repeat: repeatRow,
  array_reverse: ownRow('array_reverse(list)', reverseKernel),
  list_reverse: ownRow('list_reverse(list)', reverseKernel),
  array_pop_front: ownRow('array_pop_front(list)', popKernel(true)),
  list_pop_front: ownRow('list_pop_front(list)', popKernel(true)),
  array_pop_back: ownRow('array_pop_back(list)', popKernel(false)),
  list_pop_back: ownRow('list_pop_back(list)', popKernel(false)),
};
