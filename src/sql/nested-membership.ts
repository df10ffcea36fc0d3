import type { DataType } from 'apache-arrow';
import type { Column } from './column.ts';
import type { Key } from './keys.ts';
import { keysOf } from './keys.ts';
import type { Membership } from './membership.ts';
import type { Scalar } from './scalar.ts';
import { constantColumn } from './scalar.ts';

/** The lists or structs of an IN list by their keys; nulls inside them are alike. */
export function nestedMembership(values: readonly Scalar[], type: DataType): Membership {
  const present = values.filter((value) => value !== null);
  const members = new Set(present.map((value) => keysOf(constantColumn(type, value, 1), type)(0)));
  const mark = (column: Column, into: Uint8Array, yes: number): void => {
    const key: Key = keysOf(column, type);
    for (let row = 0; row < into.length; row++) {
      if (members.has(key(row))) {
        into[row] = yes;
      }
    }
  };
  const hasNull = present.length < values.length;
  return { hasNull, size: values.length, values: present, mark };
}
