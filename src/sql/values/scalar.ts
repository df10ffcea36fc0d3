import { copyBytes } from '../../arrow/data.ts';
import type { DataType } from 'apache-arrow';
import {
  isValid,
  newStates,
  statesColumn,
  structColumn,
  truth,
  type Column,
  type ListColumn,
  type NumberColumn,
} from './column.ts';
import type { Interval } from './expression.ts';
import { hold } from './meter.ts';
import { storageOf } from './storage.ts';
import { takeRows } from './take.ts';
import { elementType } from './types.ts';

/**
 * One value, read by its type: bigint for integers, dates and times in the
 * type's own step and for decimals without their point, number for floats.
 * A list or a struct is a column of one row.
 */
export type Scalar = null | boolean | bigint | number | string | Uint8Array | Interval | Column;

const encoder = new TextEncoder();

function isColumn(value: Scalar): value is Column {
  return typeof value === 'object' && value !== null && 'kind' in value;
}

function constantBytes(value: Scalar, length: number, valid: Uint8Array | null): Column {
  const bytes =
    typeof value === 'string'
      ? encoder.encode(value)
      : value instanceof Uint8Array
        ? value
        : new Uint8Array();
  const starts = new Uint32Array(length);
  return {
    kind: 'bytes',
    length,
    bytes,
    starts,
    ends: new Uint32Array(length).fill(bytes.length),
    valid,
  };
}

function constantList({ type, value, length, valid }: Constant): Column {
  const single = value !== null && isColumn(value) && value.kind === 'list' ? value : undefined;
  const starts = new Uint32Array(length).fill(single?.starts[0] ?? 0);
  const ends = new Uint32Array(length).fill(single?.ends[0] ?? 0);
  const child = single?.child ?? constantColumn(elementType(type), null, 0);
  return { kind: 'list', length, child, starts, ends, valid };
}

function constantState(value: Scalar): number {
  return value === null ? truth.unknown : value === true ? truth.true : truth.false;
}

function constantStruct({ type, value, length, valid }: Constant): Column {
  if (value !== null && isColumn(value)) return takeRows(value, new Uint32Array(length));
  return structColumn(length, valid, (at) => constantColumn(type.children[at]!.type, null, length));
}

/** A constant column to create. */
interface Constant {
  readonly type: DataType;
  readonly value: Scalar;
  readonly length: number;
  readonly valid: Uint8Array | null;
}

function constantNumbers({ type, value, length, valid }: Constant): Column {
  const storage = storageOf(type);
  const Values = storage.kind === 'number' ? storage.array : Float64Array;
  return { kind: 'number', length, values: new Values(length).fill(Number(value ?? 0)), valid };
}

function constantBigints({ type, value, length, valid }: Constant): Column {
  const storage = storageOf(type);
  const Values = storage.kind === 'bigint' ? storage.array : BigInt64Array;
  return {
    kind: 'bigint',
    length,
    values: new Values(length).fill((value as bigint | null) ?? 0n),
    valid,
  };
}

function constantWides({ value, length, valid }: Constant): Column {
  const each = (value as bigint | null) ?? 0n;
  return { kind: 'wide', length, values: Array.from({ length }, () => each), valid };
}

const constants: Readonly<Record<Column['kind'], (constant: Constant) => Column>> = {
  states: ({ value, length }) => statesColumn(newStates(length).fill(constantState(value))),
  number: constantNumbers,
  bigint: constantBigints,
  wide: constantWides,
  bytes: ({ value, length, valid }) => constantBytes(value, length, valid),
  list: constantList,
  struct: constantStruct,
  nested: ({ length }) => ({ kind: 'null', length }),
  null: ({ length }) => ({ kind: 'null', length }),
};

/** A column of `length` rows that all have the value. */
export function constantColumn(type: DataType, value: Scalar, length: number): Column {
  hold(length * 9);
  const valid = value === null ? new Uint8Array(length) : null;
  return constants[storageOf(type).kind]({ type, value, length, valid });
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

type Readers = {
  readonly [Kind in Column['kind']]: (
    column: Extract<Column, { kind: Kind }>,
    row: number,
  ) => Scalar;
};

function numberAt({ values }: NumberColumn, row: number): number | bigint {
  const float = values instanceof Float32Array || values instanceof Float64Array;
  return float ? values[row]! : BigInt(values[row]!);
}

function listAt(column: ListColumn, row: number): Column {
  const { starts, ends } = column;
  return {
    ...column,
    length: 1,
    starts: starts.slice(row, row + 1),
    ends: ends.slice(row, row + 1),
    valid: null,
  };
}

const readers: Readers = {
  states: ({ states }, row) => states[row] === truth.true,
  number: numberAt,
  bigint: ({ values }, row) => values[row]!,
  wide: ({ values }, row) => values[row]!,
  bytes: ({ bytes, starts, ends }, row) => copyBytes(bytes, starts[row], ends[row]),
  list: listAt,
  struct: (column, row) => takeRows(column, Uint32Array.of(row)),
  nested: () => null,
  null: () => null,
};

/** The value of a row; `isText` decodes bytes as UTF-8. */
export function scalarAt(column: Column, row: number, isText: boolean): Scalar {
  if (!isValid(column, row)) return null;
  const value = readers[column.kind](column as never, row);
  return isText && value instanceof Uint8Array ? decoder.decode(value) : value;
}
