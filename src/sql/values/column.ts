import type { Data } from 'apache-arrow';
import type { TypedArray } from '../../arrow/data.ts';
import type { Spans } from '../../arrow/spans.ts';

/** One byte a row, 1 where the row has a value; null when every row has one. */
export type Valid = Uint8Array | null;

/** Values that JavaScript numbers hold exactly. */
export type NumberArray = Exclude<TypedArray, BigintArray>;

/** Values that only bigints hold exactly. */
export type BigintArray = BigInt64Array | BigUint64Array;

/**
 * The three truth values of SQL, one byte a row. AND of two bytes is `&` and OR
 * is `|`, so the kernels of logic take four rows at once.
 */
export const truth = { false: 0, unknown: 1, true: 3 } as const;

/** Booleans. Null is the state UNKNOWN; there is no mask. */
export interface StatesColumn {
  readonly kind: 'states';
  readonly length: number;
  /** Its buffer is padded to whole words of 32 bits. */
  readonly states: Uint8Array;
}

/** Integers up to 32 bits, floats, dates, 32-bit times. */
export interface NumberColumn {
  readonly kind: 'number';
  readonly length: number;
  readonly values: NumberArray;
  readonly valid: Valid;
}

/** 64-bit integers, timestamps, durations, 64-bit times and dates. */
export interface BigintColumn {
  readonly kind: 'bigint';
  readonly length: number;
  readonly values: BigintArray;
  readonly valid: Valid;
}

/** Decimals: the value times ten to the power of the scale. */
interface WideColumn {
  readonly kind: 'wide';
  readonly length: number;
  readonly values: readonly bigint[];
  readonly valid: Valid;
}

/** Texts in UTF-8, and binaries: row `i` is the bytes from `starts[i]` to `ends[i]`. */
export interface BytesColumn extends Spans {
  readonly kind: 'bytes';
  readonly length: number;
  readonly bytes: Uint8Array;
  readonly valid: Valid;
}

/** Lists, and maps as lists of entries: row `i` is the rows of `child` from `starts[i]` to `ends[i]`. */
export interface ListColumn extends Spans {
  readonly kind: 'list';
  readonly length: number;
  readonly child: Column;
  readonly valid: Valid;
}

/** Structs: row `i` has row `i` of each field, which is read on first use. */
export interface StructColumn {
  readonly kind: 'struct';
  readonly length: number;
  /** Field number `at`; its values are undefined where the struct itself is null. */
  readonly field: (at: number) => Column;
  readonly valid: Valid;
}

/** Values that are only passed through: unions, intervals, dictionaries of such. */
export interface NestedColumn {
  readonly kind: 'nested';
  readonly length: number;
  readonly data: Data;
  /** The rows of `data` that the column has, all of them when null. */
  readonly rows: Uint32Array | null;
  readonly valid: Valid;
}

/** Untyped nulls. */
interface NullColumn {
  readonly kind: 'null';
  readonly length: number;
}

/** The values of one expression for the rows of a batch. */
export type Column =
  | StatesColumn
  | NumberColumn
  | BigintColumn
  | WideColumn
  | BytesColumn
  | ListColumn
  | StructColumn
  | NestedColumn
  | NullColumn;

/** A struct column that creates each field once. */
export function structColumn(
  length: number,
  valid: Valid,
  field: (at: number) => Column,
): StructColumn {
  const made: Column[] = [];
  return { kind: 'struct', length, valid, field: (at) => (made[at] ??= field(at)) };
}

/** New states, all FALSE. */
export function newStates(length: number): Uint8Array {
  return new Uint8Array(new ArrayBuffer((length + 3) & ~3), 0, length);
}

/** The column of some states, which come from `newStates`. */
export function statesColumn(states: Uint8Array): StatesColumn {
  return { kind: 'states', length: states.length, states };
}

/** Makes the rows without a value UNKNOWN. */
export function maskStates(states: Uint8Array, valid: Valid): void {
  if (valid !== null) {
    for (let row = 0; row < states.length; row++) {
      if (valid[row] === 0) states[row] = truth.unknown;
    }
  }
}

/** Mask of the rows that have a value in both. */
export function bothValid(left: Valid, right: Valid): Valid {
  if (left === null || right === null) return left ?? right;
  const both = new Uint8Array(left.length);
  for (let row = 0; row < both.length; row++) both[row] = left[row]! & right[row]!;
  return both;
}

/** The validity mask of a column of any kind. */
export function validOf(column: Column): Valid {
  if (column.kind === 'null') return new Uint8Array(column.length);
  if (column.kind !== 'states') return column.valid;
  const { states } = column;
  if (!states.includes(truth.unknown)) return null;
  return states.map((state) => (state === truth.unknown ? 0 : 1));
}

/** Whether a row has a value. */
export function isValid(column: Column, row: number): boolean {
  if (column.kind === 'states') return column.states[row] !== truth.unknown;
  return column.kind !== 'null' && (column.valid === null || column.valid[row] === 1);
}
