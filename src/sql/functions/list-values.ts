import { Uint64 } from 'apache-arrow';
import type { Bound, Kernel } from '../bound.ts';
import { canCast } from '../cast.ts';
import { castTo, coerce } from '../coerce.ts';
import type { BytesColumn, ListColumn, Valid } from '../column.ts';
import { isValid, truth } from '../column.ts';
import { compareColumns } from '../compare.ts';
import { listsOf, listType } from '../element.ts';
import { SqlError } from '../errors.ts';
import { maxTextLengthen } from '../limits.ts';
import { textType } from '../literals.ts';
import { call } from '../node.ts';
import { takeRows } from '../take.ts';
import { allValid, buildTexts, bytesOf, textAt } from '../text.ts';
import { elementType, familyOf } from '../types.ts';
import { bigintsOf } from '../widen.ts';
import type { FunctionRow } from './function-row.ts';
import { checkCount, fitArgument, wrongArgument } from './function-row.ts';
import { elementRows, fitted, isPlain, listArgument, sameElement } from './list.ts';

const positionUsage = 'array_position(list, value[, start])';

/** Throws SqlError `value` for a start before the first element. */
function checkStarts(starts: ArrayLike<bigint>, valid: Valid, position: number): void {
  for (let row = 0; row < starts.length; row++) {
    if ((valid === null || valid[row] === 1) && starts[row]! < 1n) {
      const message = `expected a start of 1 or more in array_position, found ${starts[row]!}`;
      throw new SqlError('value', message, position);
    }
  }
}

/** The place of the first element from `start` on that is the value, counted from 1; a null is found as well. */
const positionKernel: Kernel = ([column, value, start], { length, position }) => {
  const lists = listsOf(column!);
  const open = allValid(start === undefined ? [lists] : [lists, start]);
  const from = start === undefined ? undefined : bigintsOf(start);
  checkStarts(from ?? [], open, position);
  const { children, owners } = elementRows(lists);
  const pairs = [takeRows(lists.child, children), takeRows(value!, owners)] as const;
  const found = compareColumns('is not distinct from', ...pairs, [1n, 1n]).states;
  const values = new BigUint64Array(length);
  for (let at = 0; at < found.length; at++) {
    const row = owners[at]!;
    const place = BigInt(children[at]! - lists.starts[row]! + 1);
    if (found[at] === truth.true && values[row] === 0n && place >= (from?.[row] ?? 1n)) {
      values[row] = place;
    }
  }
  const valid = Uint8Array.from({ length }, (_, row) =>
    values[row]! > 0n && (open === null || open[row] === 1) ? 1 : 0,
  );
  return { kind: 'bigint', length, values, valid };
};

const positionRow: FunctionRow = {
  usage: positionUsage,
  bind(made) {
    checkCount(positionUsage, made, 2, 3);
    const list = listArgument(positionUsage, made, 0);
    const value = made.arguments[1]!;
    const type = fitted(elementType(list.type), value);
    if (type === undefined || !isPlain(type)) {
      throw wrongArgument(positionUsage, `a value of the list's type`, 2, value);
    }
    const start = made.arguments
      .slice(2)
      .map((argument) => fitArgument(positionUsage, 'integer', argument, 3));
    return call({
      name: made.name,
      type: new Uint64(),
      arguments: [coerce(list, sameElement(list, type)), coerce(value, type), ...start],
      kernel: positionKernel,
      position: made.position,
      fallible: start.length > 0,
    });
  },
};

const sliceUsage = 'array_slice(list, from, to)';

/** A place counted from 1, or from the end below 0, as one from 1. */
function fromStart(place: bigint, size: number): number {
  const counted = place < 0n ? BigInt(size) + place + 1n : place;
  return Number(counted < 0n ? 0n : counted > BigInt(size) + 1n ? BigInt(size) + 1n : counted);
}

/** The elements stay where they are; only the ends of the lists move. */
const sliceKernel: Kernel = ([column, from, to], { length }) => {
  const lists = listsOf(column!);
  const [first, last] = [bigintsOf(from!), bigintsOf(to!)];
  const [starts, ends] = [new Uint32Array(length), new Uint32Array(length)];
  for (let row = 0; row < length; row++) {
    const start = lists.starts[row]!;
    const size = lists.ends[row]! - start;
    const begin = Math.max(1, fromStart(first[row]!, size));
    const end = Math.min(size, fromStart(last[row]!, size));
    starts[row] = start + begin - 1;
    ends[row] = Math.max(starts[row]!, start + end);
  }
  return { ...lists, starts, ends, valid: allValid([lists, from!, to!]) };
};

const sliceRow: FunctionRow = {
  usage: sliceUsage,
  bind(made) {
    checkCount(sliceUsage, made, 3, 3);
    const list = listArgument(sliceUsage, made, 0);
    const places = made.arguments
      .slice(1)
      .map((argument, at) => fitArgument(sliceUsage, 'integer', argument, at + 2));
    return call({
      name: made.name,
      type: listType(elementType(list.type)),
      arguments: [coerce(list, listType(elementType(list.type))), ...places],
      kernel: sliceKernel,
      position: made.position,
      fallible: false,
    });
  },
};

const toStringUsage = 'array_to_string(list, separator[, null])';

/** The elements of one list; nulls are left out unless there is a text for them. */
function joinList(
  lists: ListColumn,
  texts: BytesColumn,
  row: number,
  separator: string,
  nullText: string | undefined,
): string | undefined {
  const parts: string[] = [];
  let size = 0;
  for (let at = lists.starts[row]!; at < lists.ends[row]!; at++) {
    const part = isValid(texts, at) ? textAt(texts, at) : nullText;
    if (part !== undefined) {
      parts.push(part);
      size += part.length + separator.length;
    }
    if (size > maxTextLengthen) {
      return undefined;
    }
  }
  return parts.join(separator);
}

const toStringKernel: Kernel = ([column, separator, nulls], { length, name, position }) => {
  const lists = listsOf(column!);
  const texts = bytesOf(lists.child);
  const [between, instead] = [
    bytesOf(separator!),
    nulls === undefined ? undefined : bytesOf(nulls),
  ];
  return buildTexts(length, allValid([lists, between]), position, (row) => {
    const nullText =
      instead !== undefined && isValid(instead, row) ? textAt(instead, row) : undefined;
    const joined = joinList(lists, texts, row, textAt(between, row), nullText);
    if (joined === undefined) {
      const message = `expected at most ${maxTextLengthen} characters from ${name}, found more`;
      throw new SqlError('limit', message, position);
    }
    return joined;
  });
};

const toStringRow: FunctionRow = {
  usage: toStringUsage,
  bind(made) {
    checkCount(toStringUsage, made, 2, 3);
    const list = listArgument(toStringUsage, made, 0);
    const element = elementType(list.type);
    if (!isPlain(element) || familyOf(element) === 'binary' || !canCast(element, textType)) {
      throw wrongArgument(toStringUsage, 'a list of values that have a text', 1, list);
    }
    const texts: Bound = castTo(list, listType(textType), made.position);
    const rest = made.arguments
      .slice(1)
      .map((argument, at) => fitArgument(toStringUsage, 'text', argument, at + 2));
    return call({
      name: made.name,
      type: textType,
      arguments: [texts, ...rest],
      kernel: toStringKernel,
      position: made.position,
      fallible: true,
    });
  },
};

/** Functions that look for values in lists, take parts of them or write them out. */
export const listValueFunctions: Readonly<Record<string, FunctionRow>> = {
  array_position: positionRow,
  array_indexof: positionRow,
  list_position: positionRow,
  list_indexof: positionRow,
  array_slice: sliceRow,
  list_slice: sliceRow,
  array_to_string: toStringRow,
  array_join: toStringRow,
  list_to_string: toStringRow,
  list_join: toStringRow,
};
