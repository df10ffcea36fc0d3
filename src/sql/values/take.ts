import {
  newBigints,
  newNumbers,
  newStates,
  statesColumn,
  structColumn,
  type BigintArray,
  type BytesColumn,
  type Column,
  type ListColumn,
  type NestedColumn,
  type NumberArray,
  type Valid,
} from './column.ts';
import { hold, spend } from './meter.ts';

function takeValid(valid: Valid, rows: Uint32Array): Valid {
  return valid === null ? null : takeBytes(valid, new Uint8Array(rows.length), rows);
}

function takeBytes(from: Uint8Array, to: Uint8Array, rows: Uint32Array): Uint8Array {
  for (let row = 0; row < rows.length; row++) to[row] = from[rows[row]!]!;
  return to;
}

/** Rows of spans, or of row numbers. */
function takeWords(from: Uint32Array | Int32Array, rows: Uint32Array): Uint32Array {
  const to = new Uint32Array(rows.length);
  for (let row = 0; row < rows.length; row++) to[row] = from[rows[row]!]!;
  return to;
}

function copyNumbers(from: NumberArray, to: NumberArray, rows: Uint32Array): void {
  for (let row = 0; row < rows.length; row++) to[row] = from[rows[row]!]!;
}

function takeNumbers(from: NumberArray, rows: Uint32Array): NumberArray {
  const to = newNumbers(from, rows.length);
  copyNumbers(from, to, rows);
  return to;
}

function takeBigints(from: BigintArray, rows: Uint32Array): BigintArray {
  const to = newBigints(from, rows.length);
  for (let row = 0; row < rows.length; row++) to[row] = from[rows[row]!]!;
  return to;
}

function takeSpans<Spans extends BytesColumn | ListColumn>(
  column: Spans,
  rows: Uint32Array,
): Spans {
  return {
    ...column,
    length: rows.length,
    starts: takeWords(column.starts, rows),
    ends: takeWords(column.ends, rows),
    valid: takeValid(column.valid, rows),
  };
}

function takeNested({ rows, data, valid }: NestedColumn, wanted: Uint32Array): Column {
  const kept = rows === null ? wanted : takeWords(rows, wanted);
  return {
    kind: 'nested',
    length: wanted.length,
    data,
    rows: kept,
    valid: takeValid(valid, wanted),
  };
}

type Takers = {
  readonly [Kind in Column['kind']]: (
    column: Extract<Column, { kind: Kind }>,
    rows: Uint32Array,
  ) => Column;
};

const takers: Takers = {
  states: ({ states }, rows) => statesColumn(takeBytes(states, newStates(rows.length), rows)),
  number: ({ values, valid }, rows) => ({
    kind: 'number',
    length: rows.length,
    values: takeNumbers(values, rows),
    valid: takeValid(valid, rows),
  }),
  bigint: ({ values, valid }, rows) => ({
    kind: 'bigint',
    length: rows.length,
    values: takeBigints(values, rows),
    valid: takeValid(valid, rows),
  }),
  wide: ({ values, valid }, rows) => ({
    kind: 'wide',
    length: rows.length,
    values: Array.from(rows, (row) => values[row]!),
    valid: takeValid(valid, rows),
  }),
  bytes: takeSpans,
  list: takeSpans,
  struct: ({ field, valid }, rows) =>
    structColumn(rows.length, takeValid(valid, rows), (at) => takeRows(field(at), rows)),
  nested: takeNested,
  null: (_, { length }) => ({ kind: 'null', length }),
};

/** The given rows of a column, in the given order; a row may come more than once. */
export function takeRows(column: Column, rows: Uint32Array): Column {
  const width = column.kind === 'wide' ? 40 : 9;
  spend(rows.length * width);
  hold(rows.length * width);
  return takers[column.kind](column as never, rows);
}
