import { isUtf8 } from 'node:buffer';
import type { DataType } from 'apache-arrow';
import type { Kernel, KernelCall } from './bound.ts';
import { castKernel, tryConverter } from './cast.ts';
import type { Column } from './column.ts';
import { isValid } from './column.ts';
import { hideRows } from './read.ts';
import { sameType } from './same-type.ts';
import { isSingle, storageOf } from './storage.ts';
import { elementType, familyOf } from './types.ts';

/** Whether the value of a row can be cast. */
function tester(column: Column, from: DataType, to: DataType): (row: number) => boolean {
  if (column.kind === 'bytes' && storageOf(to).kind === 'bytes') {
    const checked = familyOf(from) === 'binary' && familyOf(to) === 'text';
    return (row) => !checked || isUtf8(column.bytes.subarray(column.starts[row], column.ends[row]));
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

/** A list keeps its place; only the elements that cannot be cast become null. */
function tryCast(column: Column, from: DataType, call: KernelCall): Column {
  if (sameType(from, call.type)) {
    return column;
  }
  if (column.kind === 'list') {
    const type = elementType(call.type);
    const inner = { ...call, type, length: column.child.length };
    return { ...column, child: tryCast(column.child, elementType(from), inner) };
  }
  const kept =
    column.kind === 'null' ? column : hideRows(column, castable(column, from, call.type));
  return castKernel([kept], { ...call, types: [from] });
}

/** The kernel of TRY_CAST: null where CAST would fail. The type of the call is the target. */
export const tryCastKernel: Kernel = ([column], call) => tryCast(column!, call.types[0]!, call);
