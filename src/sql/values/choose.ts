import type { DataType } from 'apache-arrow';
import { newStates, type Column } from './column.ts';
import { constantColumn } from './scalar.ts';
import { appendAll } from './append.ts';
import { takeRows } from './take.ts';

/** Spreads the states of some rows over all rows; the others get `rest`. */
export function scatterStates(
  length: number,
  rows: Uint32Array,
  states: Uint8Array,
  rest: number,
): Uint8Array {
  const all = newStates(length).fill(rest);
  for (let at = 0; at < rows.length; at++) all[rows[at]!] = states[at]!;
  return all;
}

/** Rows of a result and the column with their values. */
interface Part {
  readonly rows: Uint32Array;
  readonly column: Column;
}

/** Combines parts. A later part overrides an earlier one. */
export function choose(type: DataType, length: number, parts: readonly Part[]): Column {
  const used = parts.filter((part) => part.rows.length > 0);
  const [first, ...rest] = used;
  if (first === undefined) return constantColumn(type, null, length);
  if (rest.length === 0 && first.rows.length === length) return first.column;
  const sources = new Uint32Array(length);
  let offset = 0;
  for (const { rows, column } of used) {
    for (let at = 0; at < rows.length; at++) sources[rows[at]!] = offset + at;
    offset += column.length;
  }
  return takeRows(appendAll(used.map((part) => part.column)), sources);
}
