import type { DataType } from 'apache-arrow';
import {
  isValid,
  type BytesColumn,
  type Column,
  type ListColumn,
  type StructColumn,
} from './column.ts';
import { spend } from './meter.ts';
import { elementType } from './types.ts';

/** Key of a row: equal values of the column's type have equal keys, nulls too. */
export type Key = (row: number) => string;

/** The length separates the bytes from what follows. */
function bytesKey({ bytes, starts, ends }: BytesColumn): Key {
  return (row) => {
    const start = starts[row]!;
    const size = ends[row]! - start;
    spend(size + 16);
    const own = Buffer.from(bytes.buffer, bytes.byteOffset + start, size);
    return `${size}:${own.toString('latin1')}`;
  };
}

function listKey({ child, starts, ends }: ListColumn, element: DataType): Key {
  const key = rowKeys(child, element);
  return (row) => {
    const keys: string[] = [];
    for (let at = starts[row]!; at < ends[row]!; at++) keys.push(key(at));
    return `[${keys.join()}]`;
  };
}

function structKey(column: StructColumn, type: DataType): Key {
  const keys = type.children.map((field, at) => rowKeys(column.field(at), field.type));
  return (row) => `{${keys.map((key) => key(row)).join()}}`;
}

function presentKey(column: Column, type: DataType): Key {
  if (column.kind === 'bytes') return bytesKey(column);
  if (column.kind === 'list') return listKey(column, elementType(type));
  if (column.kind === 'struct') return structKey(column, type);
  if (column.kind === 'states') return (row) => String(column.states[row]!);
  // The text of -0 is that of 0, and all NaN have one.
  return 'values' in column ? (row) => String(column.values[row]!) : () => '';
}

/** Work of a key, in bytes, in addition to its value. */
const KEY_BYTES = 32;

/** The keys of a column's rows, for hash sets. */
export function rowKeys(column: Column, type: DataType): Key {
  const key = presentKey(column, type);
  return (row) => {
    spend(KEY_BYTES);
    return isValid(column, row) ? key(row) : 'null';
  };
}
