import { endAt, sizeAt, startAt } from '../../arrow/spans.ts';
import { Uint64 } from 'apache-arrow';
import { kernelOf, type Bound, type Kernel, type KernelCall } from '../evaluate/bound.ts';
import { canCast } from '../cast/cast.ts';
import { castTo } from '../cast/coerce.ts';
import { isValid, type BytesColumn, type ListColumn, type Valid } from '../values/column.ts';
import { listType } from '../bind/element.ts';
import { elementRows, listsOf } from '../values/lists.ts';
import { valueOrder } from '../compare/order.ts';
import { SqlError } from '../values/sql-error.ts';
import { maxListElements, maxTextLengthen } from '../values/limits.ts';
import { textType } from '../cast/literals.ts';
import { room, spend } from '../values/meter.ts';
import { call } from '../evaluate/node.ts';
import { allValid, buildTexts, textColumnOf, textAt } from '../values/text.ts';
import { elementType, familyOf } from '../values/types.ts';
import { bigintsOf } from '../values/widen.ts';
import { checkCount, fitArgument, wrongArgument, type FunctionRow } from './function-row.ts';
import { buildLists } from './list-builder.ts';
import { asList } from './list-change.ts';
import { flattened } from './list-shape.ts';
import { listArgument, withValue } from './list.ts';

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

/** Position of the first element from `start` on that equals the value, counted from 1; null matches null. */
const positionKernel: Kernel = kernelOf(
  2,
  ([column, value, start], { length, position, types }) => {
    const lists = listsOf(column);
    const open = allValid(start === undefined ? [lists] : [lists, start]);
    const from = start === undefined ? undefined : bigintsOf(start);
    checkStarts(from ?? [], open, position);
    const { children, owners } = elementRows(lists);
    const order = valueOrder(lists.child, value, types[1]);
    const values = new BigUint64Array(length);
    for (let at = 0; at < owners.length; at++) {
      const row = owners[at]!;
      spend(8);
      const place = BigInt(children[at]! - startAt(lists, row) + 1);
      const open = values[row] === 0n && place >= (from?.[row] ?? 1n);
      if (open && order(children[at]!, row) === 0) values[row] = place;
    }
    const valid = Uint8Array.from({ length }, (_, row) =>
      values[row]! > 0n && (open === null || open[row] === 1) ? 1 : 0,
    );
    return { kind: 'bigint', length, values, valid };
  },
);

const positionRow: FunctionRow = {
  usage: positionUsage,
  bind(made) {
    checkCount(positionUsage, made, 2, 3);
    const list = listArgument(positionUsage, made, 0);
    const value = made.arguments[1];
    const args = withValue(positionUsage, list, value, 2);
    const start = made.arguments
      .slice(2)
      .map((argument) => fitArgument(positionUsage, 'integer', argument, 3));
    return call({
      name: made.name,
      type: new Uint64(),
      arguments: [...args, ...start],
      kernel: positionKernel,
      position: made.position,
      fallible: start.length > 0,
    });
  },
};

const sliceUsage = 'array_slice(list, from, to[, stride])';

/** A position counted from 1, or from the end if negative, as one from 1. */
function fromStart(place: bigint, size: number): number {
  const counted = place < 0n ? BigInt(size) + place + 1n : place;
  return Number(counted < 0n ? 0n : counted > BigInt(size) + 1n ? BigInt(size) + 1n : counted);
}

/** The step from one place to the next. Throws SqlError `value` for 0. */
function strideAt(strides: ArrayLike<bigint> | undefined, row: number, made: KernelCall): number {
  const stride = strides?.[row] ?? 1n;
  if (stride === 0n) {
    const message = 'expected a stride other than 0 in array_slice, found 0';
    throw new SqlError('value', message, made.position);
  }
  const most = BigInt(maxListElements);
  return Number(stride > most ? most : stride < -most ? -most : stride);
}

/** Both ends are included; a negative stride goes backwards. */
const sliceKernel: Kernel = kernelOf(3, ([column, from, to, stride], made) => {
  const lists = listsOf(column);
  const [first, last] = [bigintsOf(from), bigintsOf(to)];
  const strides = stride === undefined ? undefined : bigintsOf(stride);
  const valid = allValid([lists, from, to, ...(stride === undefined ? [] : [stride])]);
  return buildLists(lists.child, valid, made, (row, emit) => {
    const start = startAt(lists, row);
    const size = endAt(lists, row) - start;
    const step = strideAt(strides, row, made);
    const [a, b] = [fromStart(first[row]!, size), fromStart(last[row]!, size)];
    const [begin, end] =
      step > 0 ? [Math.max(1, a), Math.min(size, b)] : [Math.min(size, a), Math.max(1, b)];
    for (let at = begin; step > 0 ? at <= end : at >= end; at += step) emit(start + at - 1);
  });
});

const sliceRow: FunctionRow = {
  usage: sliceUsage,
  bind(made) {
    checkCount(sliceUsage, made, 3, 4);
    const list = asList(listArgument(sliceUsage, made, 0));
    const places = made.arguments
      .slice(1)
      .map((argument, at) => fitArgument(sliceUsage, 'integer', argument, at + 2));
    return call({
      name: made.name,
      type: list.type,
      arguments: [list, ...places],
      kernel: sliceKernel,
      position: made.position,
      fallible: true,
    });
  },
};

const toStringUsage = 'array_to_string(list, separator[, null])';

/** The elements of one list as texts; nulls are skipped unless a text for them is given. */
function joinList(
  lists: ListColumn,
  texts: BytesColumn,
  row: number,
  separator: string,
  nullText: string | undefined,
): string | undefined {
  room(sizeAt(lists, row) * 32);
  const parts: string[] = [];
  let size = 0;
  for (let at = startAt(lists, row); at < endAt(lists, row); at++) {
    spend(8);
    const part = isValid(texts, at) ? textAt(texts, at) : nullText;
    if (part !== undefined) {
      parts.push(part);
      size += part.length + separator.length;
    }
    if (size > maxTextLengthen) return undefined;
  }
  room(size * 2);
  return parts.join(separator);
}

const toStringKernel: Kernel = kernelOf(
  2,
  ([column, separator, nulls], { length, name, position }) => {
    const lists = listsOf(column);
    const texts = textColumnOf(lists.child);
    const [between, instead] = [
      textColumnOf(separator),
      nulls === undefined ? undefined : textColumnOf(nulls),
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
  },
);

const toStringRow: FunctionRow = {
  usage: toStringUsage,
  bind(made) {
    checkCount(toStringUsage, made, 2, 3);
    const list = flattened(listArgument(toStringUsage, made, 0));
    const element = elementType(list.type);
    if (familyOf(element) === 'binary' || !canCast(element, textType)) {
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
