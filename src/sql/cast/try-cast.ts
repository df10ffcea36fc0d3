import { sizeAt } from '../../arrow/spans.ts';
import { isUtf8 } from 'node:buffer';
import type { DataType } from 'apache-arrow';
import { kernelOf, type Kernel, type KernelCall } from '../evaluate/bound.ts';
import { castKernel, tryConverter } from './cast.ts';
import { isValid, structColumn, type Column, type ListColumn } from '../values/column.ts';
import { fixedSize } from '../values/lists.ts';
import { hideRows } from '../values/read.ts';
import { sameType } from '../../arrow/types.ts';
import { constantColumn } from '../values/scalar.ts';
import { isSingle, storageOf } from '../values/storage.ts';
import { elementType, familyOf } from '../values/types.ts';

/** Whether the value of a row can be cast. */
function tester(column: Column, from: DataType, to: DataType): (row: number) => boolean {
  if (column.kind === 'bytes' && storageOf(to).kind === 'bytes') {
    const checked = familyOf(from) === 'binary' && familyOf(to) === 'text';
    const size = fixedSize(to);
    return (row) => {
      const bytes = column.bytes.subarray(column.starts[row], column.ends[row]);
      return (size === undefined || bytes.length === size) && (!checked || isUtf8(bytes));
    };
  }
  const convert = tryConverter(column, from, to);
  const single = isSingle(to);
  return (row) => {
    const value = convert(row);
    const infinite =
      single &&
      typeof value === 'number' &&
      Number.isFinite(value) &&
      !Number.isFinite(Math.fround(value));
    return value !== undefined && !infinite;
  };
}

function castable(column: Column, from: DataType, to: DataType): Uint8Array {
  const valid = new Uint8Array(column.length);
  const test = tester(column, from, to);
  for (let row = 0; row < valid.length; row++) {
    valid[row] = isValid(column, row) && test(row) ? 1 : 0;
  }
  return valid;
}

/** A list whose length differs from a fixed-size type becomes null. */
function tryCastLists(column: ListColumn, from: DataType, call: KernelCall): Column {
  const type = elementType(call.type);
  const inner = { ...call, type, length: column.child.length };
  const lists = { ...column, child: tryCast(column.child, elementType(from), inner) };
  const size = fixedSize(call.type);
  const fits = (row: number): number => (sizeAt(lists, row) === size ? 1 : 0);
  const { length } = lists;
  return size === undefined
    ? lists
    : hideRows(
        lists,
        Uint8Array.from({ length }, (_, row) => fits(row)),
      );
}

/** Lists always fit into texts; struct fields are tried one by one. */
function tryCastNested(column: Column, from: DataType, call: KernelCall): Column {
  if (column.kind !== 'struct') return castKernel([column], { ...call, types: [from] });
  const { length, valid } = column;
  const fields = call.type.children.map(({ name, type }) => {
    const at = from.children.findIndex((field) => field.name === name);
    return at < 0
      ? constantColumn(type, null, length)
      : tryCast(column.field(at), from.children[at]!.type, { ...call, type });
  });
  return structColumn(length, valid, (at) => fields[at]!);
}

/** A list keeps its place; only the elements that cannot be cast become null. */
function tryCast(column: Column, from: DataType, call: KernelCall): Column {
  if (sameType(from, call.type)) return column;
  if (column.kind === 'list' && familyOf(call.type) === 'list') {
    return tryCastLists(column, from, call);
  }
  if (column.kind === 'struct' || column.kind === 'list') return tryCastNested(column, from, call);
  const fitting =
    column.kind === 'null' ? column : hideRows(column, castable(column, from, call.type));
  return castKernel([fitting], { ...call, types: [from] });
}

/** The kernel of TRY_CAST: null where CAST would fail. The type of the call is the target. */
export const tryCastKernel: Kernel = kernelOf(1, ([column], call) =>
  tryCast(column, call.types[0], call),
);
