import { DataType, Precision, type Data, type Vector } from 'apache-arrow';
import { unpackBits } from '../../arrow/bitmap.ts';
import { wordsOf } from '../../arrow/data.ts';
import { integerAt } from '../../arrow/extremes-of-words.ts';
import { halfToFloat } from '../../arrow/half-float.ts';
import { inlineCapacity } from '../../arrow/layout.ts';
import { spansOf } from '../../arrow/spans.ts';
import {
  bothValid,
  maskStates,
  newStates,
  statesColumn,
  structColumn,
  truth,
  type BigintArray,
  type Column,
  type NumberArray,
  type Valid,
} from './column.ts';
import { constantColumn } from './scalar.ts';
import { storageOf } from './storage.ts';
import { appendColumns } from './append.ts';
import { takeRows } from './take.ts';
import { isComputable, plainType } from './types.ts';

/** The mask of a column, one byte a row, from its bitmap (Arrow columnar format, "Validity bitmaps"). */
export function readValid(data: Data): Valid {
  const { nullBitmap, offset, length } = data;
  if (data.nullCount === 0 || !nullBitmap || nullBitmap.length === 0) return null;
  return unpackBits(nullBitmap, offset, new Uint8Array(length), 1);
}

function readStates(data: Data): Column {
  const states = unpackBits(data.values, data.offset, newStates(data.length), truth.true);
  maskStates(states, readValid(data));
  return statesColumn(states);
}

function readNumbers(data: Data): NumberArray {
  const { type, length } = data;
  if (DataType.isFloat(type) && type.precision === Precision.HALF) {
    return halfToFloat((data.values as Uint16Array).subarray(0, length));
  }
  return (data.values as NumberArray).subarray(0, length);
}

function readWide(data: Data): readonly bigint[] {
  const { values, stride, length } = data;
  return Array.from({ length }, (_, row) => integerAt(values as Uint32Array, row, stride, true));
}

/** Copies the values of views into one run of bytes; null rows are empty. */
function readViews(data: Data): Column {
  const { length } = data;
  const views = data.values as Uint8Array;
  const words = wordsOf(views);
  const starts = new Uint32Array(length);
  const ends = new Uint32Array(length);
  for (let row = 0, end = 0; row < length; row++) {
    starts[row] = end;
    end += data.getValid(row) ? words[row * 4]! : 0;
    ends[row] = end;
  }
  const bytes = new Uint8Array(ends[length - 1] ?? 0);
  for (let row = 0; row < length; row++) {
    const size = ends[row]! - starts[row]!;
    const far = size > inlineCapacity ? data.variadicBuffers[words[row * 4 + 2]!] : undefined;
    const from = far === undefined ? row * 16 + 4 : words[row * 4 + 3]!;
    bytes.set((far ?? views).subarray(from, from + size), starts[row]);
  }
  return { kind: 'bytes', length, bytes, starts, ends, valid: readValid(data) };
}

function readBytes(data: Data): Column {
  const { type, length } = data;
  if (DataType.isUtf8View(type) || DataType.isBinaryView(type)) return readViews(data);
  const bytes = data.values as Uint8Array;
  return { kind: 'bytes', length, bytes, ...spansOf(data), valid: readValid(data) };
}

function readList(data: Data): Column {
  const child = readColumn(data.children[0]!);
  return { kind: 'list', length: data.length, child, ...spansOf(data), valid: readValid(data) };
}

/** The values of a dictionary, and for each row the one it has; the row after the last is null. */
export interface Encoded {
  readonly values: Column;
  readonly rows: Uint32Array;
}

/** A dictionary column as values followed by a null, and for each row the index of its value. */
export function readEncoded(data: Data): Encoded {
  const values = readVector(data.dictionary!);
  const valid = readValid(data);
  const rows = new Uint32Array(data.length);
  for (let row = 0; row < rows.length; row++) {
    rows[row] = valid !== null && valid[row] === 0 ? values.length : Number(data.values[row]);
  }
  const type = plainType(data.type);
  return { values: appendColumns(values, constantColumn(type, null, 1)), rows };
}

/** A vector of one or more pieces as one column. */
function readVector(vector: Vector): Column {
  const [first, ...rest] = vector.data.map(readColumn);
  return rest.reduce(appendColumns, first ?? { kind: 'null', length: 0 });
}

const readers: Readonly<Record<Column['kind'], (data: Data) => Column>> = {
  states: readStates,
  number: (data) => ({
    kind: 'number',
    length: data.length,
    values: readNumbers(data),
    valid: readValid(data),
  }),
  bigint: (data) => ({
    kind: 'bigint',
    length: data.length,
    values: (data.values as BigintArray).subarray(0, data.length),
    valid: readValid(data),
  }),
  wide: (data) => ({
    kind: 'wide',
    length: data.length,
    values: readWide(data),
    valid: readValid(data),
  }),
  bytes: readBytes,
  list: readList,
  struct: (data) =>
    structColumn(data.length, readValid(data), (at) => readColumn(data.children[at]!)),
  nested: (data) => ({
    kind: 'nested',
    length: data.length,
    data,
    rows: null,
    valid: readNested(data),
  }),
  null: ({ length }) => ({ kind: 'null', length }),
};

/** The values of Arrow data. Buffers are shared where the forms agree. */
export function readColumn(data: Data): Column {
  const { type } = data;
  if (DataType.isDictionary(type) && isComputable(plainType(type))) {
    const { values, rows } = readEncoded(data);
    return takeRows(values, rows);
  }
  return readers[storageOf(type).kind](data);
}

/** Values of a dictionary may be null too. */
function hasEncodedValue(data: Data, row: number): boolean {
  return data.getValid(row) && data.dictionary!.isValid(Number(data.values[row]));
}

function readNested(data: Data): Valid {
  if (!DataType.isUnion(data.type) && !DataType.isDictionary(data.type)) return readValid(data);
  const has = DataType.isDictionary(data.type)
    ? (row: number) => hasEncodedValue(data, row)
    : (row: number) => data.getValid(row);
  return Uint8Array.from({ length: data.length }, (_, row) => (has(row) ? 1 : 0));
}

/** The field of a struct column. A row whose struct is null has no field. */
export function readField(column: Column, field: number): Column {
  if (column.kind !== 'struct') throw new TypeError(`a ${column.kind} column has no fields`);
  return hideRows(column.field(field), column.valid);
}

/** The column with nulls in the rows that `valid` excludes. */
export function hideRows(column: Column, valid: Valid): Column {
  if (valid === null || column.kind === 'null') return column;
  if (column.kind !== 'states') return { ...column, valid: bothValid(column.valid, valid) };
  const states = newStates(column.length);
  states.set(column.states);
  maskStates(states, valid);
  return statesColumn(states);
}
