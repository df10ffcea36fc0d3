import { endAt, sizeAt, startAt } from '../../arrow/spans.ts';
import { appendAll } from '../values/append.ts';
import { kernelOf, type Kernel } from '../evaluate/bound.ts';
import { isValid, type ListColumn } from '../values/column.ts';
import { excerpt, SqlError } from '../values/sql-error.ts';
import { rowKeys } from '../values/keys.ts';
import { listsOf } from '../values/lists.ts';
import { room } from '../values/meter.ts';
import { call } from '../evaluate/node.ts';
import { valueOrder } from '../compare/order.ts';
import { hideRows } from '../values/read.ts';
import { constantColumn } from '../values/scalar.ts';
import { takeRows } from '../values/take.ts';
import { allValid, textColumnOf, textAt } from '../values/text.ts';
import { elementType } from '../values/types.ts';
import { checkCount, fitArgument, type FunctionRow } from './function-row.ts';
import { buildLists } from './list-builder.ts';
import { asList, emitList, ownRow } from './list-change.ts';
import { listArgument, sameLists, SET_BYTES } from './list.ts';

/** Whether an element belongs to the result, by its key and the keys of the other list. */
type Belongs = (key: string, other: ReadonlySet<string>) => boolean;

/** The distinct elements of both lists that `belongs` accepts, in order. */
function setKernel(belongs: Belongs, both: boolean): Kernel {
  return (columns, made) => {
    const [left, right] = columns.map(listsOf);
    const others = right ?? left!;
    const elements = appendAll([left!.child, others.child]);
    const offset = left!.child.length;
    const key = rowKeys(elements, elementType(made.type));
    return buildLists(elements, allValid(columns), made, (row, emit) => {
      const sizes = endAt(left!, row) - startAt(left!, row) + sizeAt(others, row);
      room(sizes * SET_BYTES);
      const wanted = new Set<string>();
      emitList(others, row, (at) => wanted.add(key(offset + at)));
      const seen = new Set<string>();
      const take = (at: number): void => {
        const own = key(at);
        if (!seen.has(own) && belongs(own, wanted)) {
          seen.add(own);
          emit(at);
        }
      };
      emitList(left!, row, take);
      if (both) emitList(others, row, (at) => take(offset + at));
    });
  };
}

function setRow(name: string, belongs: Belongs, both = false): FunctionRow {
  const usage = `${name}(list, list)`;
  const kernel = setKernel(belongs, both);
  return {
    usage,
    bind(made) {
      checkCount(usage, made, 2, 2);
      const args = sameLists(usage, made).map(asList);
      const { type } = args[0]!;
      const { position } = made;
      return call({ name: made.name, type, arguments: args, kernel, position, fallible: true });
    },
  };
}

const distinctKernel = setKernel(() => true, false);

const sortUsage = "array_sort(list[, 'asc' or 'desc'[, 'nulls first' or 'nulls last']])";

interface Sorting {
  readonly descending: boolean;
  readonly nullsLast: boolean;
}

/** One of two words, ignoring case. */
function choiceOf(text: string, choices: readonly [string, string], position: number): boolean {
  const at = choices.indexOf(text.trim().toLowerCase());
  if (at < 0) {
    const message = `expected '${choices[0]}' or '${choices[1]}' in array_sort, found '${excerpt(text)}'`;
    throw new SqlError('value', message, position);
  }
  return at === 1;
}

/** Nulls come first unless requested last, in both directions. */
const sortKernel: Kernel = kernelOf(1, ([column, ...options], made) => {
  const lists = listsOf(column);
  const order = valueOrder(lists.child, lists.child, elementType(made.type));
  const sortingOf = (row: number): Sorting => {
    const [direction, nulls] = options.map((option) => textAt(textColumnOf(option), row));
    return {
      descending: choiceOf(direction ?? 'asc', ['asc', 'desc'], made.position),
      nullsLast: choiceOf(nulls ?? 'nulls first', ['nulls first', 'nulls last'], made.position),
    };
  };
  return buildLists(lists.child, allValid([lists, ...options]), made, (row, emit) => {
    const { descending, nullsLast } = sortingOf(row);
    room(sizeAt(lists, row) * 32);
    const nulls: number[] = [];
    const values: number[] = [];
    emitList(lists, row, (at) => (isValid(lists.child, at) ? values : nulls).push(at));
    values.sort((a, b) => (descending ? order(b, a) : order(a, b)));
    for (const at of nullsLast ? [...values, ...nulls] : [...nulls, ...values]) emit(at);
  });
});

const sortRow: FunctionRow = {
  usage: sortUsage,
  bind(made) {
    checkCount(sortUsage, made, 1, 3);
    const list = asList(listArgument(sortUsage, made, 0));
    const options = made.arguments
      .slice(1)
      .map((argument, at) => fitArgument(sortUsage, 'text', argument, at + 2));
    return call({
      name: made.name,
      type: list.type,
      arguments: [list, ...options],
      kernel: sortKernel,
      position: made.position,
      fallible: true,
    });
  },
};

/** The best element; undefined if all are null. */
function best(
  lists: ListColumn,
  row: number,
  beats: (at: number, found: number) => boolean,
): number | undefined {
  let found: number | undefined;
  emitList(lists, row, (at) => {
    if (isValid(lists.child, at) && (found === undefined || beats(at, found))) found = at;
  });
  return found;
}

/** `sign` 1 gives the greatest element, -1 the least, 0 the first one that is not null. */
function pickKernel(sign: 1 | -1 | 0): Kernel {
  return kernelOf(1, ([column], made) => {
    const lists = listsOf(column);
    const order = valueOrder(lists.child, lists.child, made.type);
    const rows = new Uint32Array(made.length);
    const valid = new Uint8Array(made.length);
    for (let row = 0; row < made.length; row++) {
      const found = isValid(lists, row)
        ? best(lists, row, (at, than) => order(at, than) * sign > 0)
        : undefined;
      rows[row] = found ?? 0;
      valid[row] = found === undefined ? 0 : 1;
    }
    return lists.child.length === 0
      ? constantColumn(made.type, null, made.length)
      : hideRows(takeRows(lists.child, rows), valid);
  });
}

function pickRow(usage: string, sign: 1 | -1 | 0): FunctionRow {
  const kernel = pickKernel(sign);
  return {
    usage,
    bind(made) {
      checkCount(usage, made, 1, 1);
      const list = listArgument(usage, made, 0);
      const { name, position } = made;
      const type = elementType(list.type);
      return call({ name, type, arguments: [list], kernel, position, fallible: false });
    },
  };
}

const unionRow = setRow('array_union', () => true, true);
const intersectRow = setRow('array_intersect', (key, other) => other.has(key));
const exceptRow = setRow('array_except', (key, other) => !other.has(key));
const distinctRow = ownRow('array_distinct(list)', distinctKernel);

/** Functions that treat lists as sets or sort them. */
export const listSetFunctions: Readonly<Record<string, FunctionRow>> = {
  array_distinct: distinctRow,
  list_distinct: distinctRow,
  array_union: unionRow,
  list_union: unionRow,
  array_intersect: intersectRow,
  list_intersect: intersectRow,
  array_except: exceptRow,
  list_except: exceptRow,
  array_sort: sortRow,
  list_sort: sortRow,
  array_min: pickRow('array_min(list)', -1),
  list_min: pickRow('list_min(list)', -1),
  array_max: pickRow('array_max(list)', 1),
  list_max: pickRow('list_max(list)', 1),
  array_any_value: pickRow('array_any_value(list)', 0),
  list_any_value: pickRow('list_any_value(list)', 0),
};
