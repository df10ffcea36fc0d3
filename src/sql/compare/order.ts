import { isValid, type Column, type ListColumn, type StructColumn } from '../values/column.ts';
import { orderBytes } from './compare-bytes.ts';
import { spend } from '../values/meter.ts';
import type { DataType } from 'apache-arrow';

/** Compares row `row` of one column with row `other` of another: negative, 0 or positive. */
export type Order = (row: number, other: number) => number;

/** NaN is the greatest value and equals itself; -0 equals 0. Numbers and bigints compare exactly (ECMA-262, IsLessThan). */
function orderNumbers(left: number | bigint, right: number | bigint): number {
  if (left < right || left > right) return left < right ? -1 : 1;
  return Number(Number.isNaN(left)) - Number(Number.isNaN(right));
}

function orderValues(left: ArrayLike<number | bigint>, right: ArrayLike<number | bigint>): Order {
  return (row, other) => orderNumbers(left[row]!, right[other]!);
}

/** Element by element; if one list is a prefix of the other, it is less. */
function orderLists(left: ListColumn, right: ListColumn, element: DataType): Order {
  const order = valueOrder(left.child, right.child, element);
  return (row, other) => {
    const [from, to] = [left.starts[row]!, right.starts[other]!];
    const [size, otherSize] = [left.ends[row]! - from, right.ends[other]! - to];
    for (let at = 0; at < Math.min(size, otherSize); at++) {
      const found = order(from + at, to + at);
      if (found !== 0) return found;
    }
    return size - otherSize;
  };
}

/** Field by field, in the order of the type. */
function orderStructs(left: StructColumn, right: StructColumn, type: DataType): Order {
  const orders = type.children.map((field, at) =>
    valueOrder(left.field(at), right.field(at), field.type),
  );
  return (row, other) => {
    for (const order of orders) {
      const found = order(row, other);
      if (found !== 0) return found;
    }
    return 0;
  };
}

function orderPresent(left: Column, right: Column, type: DataType): Order {
  if (left.kind === 'bytes' && right.kind === 'bytes') {
    return (row, other) => orderBytes(left, row, right, other);
  }
  if (left.kind === 'states' && right.kind === 'states') {
    return orderValues(left.states, right.states);
  }
  if (left.kind === 'list' && right.kind === 'list') {
    return orderLists(left, right, type.children[0]!.type);
  }
  if (left.kind === 'struct' && right.kind === 'struct') return orderStructs(left, right, type);
  const numbers = 'values' in left && 'values' in right;
  return numbers ? orderValues(left.values, right.values) : () => 0;
}

/** Work of one comparison, in bytes; long values are charged in addition. */
const ORDER_BYTES = 8;

/**
 * The order of the values of two columns of one type, whatever it is: lists by their
 * elements, structs by their fields. Nulls are alike and less than every value.
 */
export function valueOrder(left: Column, right: Column, type: DataType): Order {
  const order = orderPresent(left, right, type);
  return (row, other) => {
    spend(ORDER_BYTES);
    const [x, y] = [isValid(left, row), isValid(right, other)];
    return x && y ? order(row, other) : Number(x) - Number(y);
  };
}
