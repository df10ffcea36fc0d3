import { DataType, Precision, type Data, type Vector } from 'apache-arrow';
import {
  newStates,
  statesColumn,
  structColumn,
  truth,
  type BigintArray,
  type BytesColumn,
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
  return readBits(nullBitmap, offset, new Uint8Array(length), 1);
}

function readBits(bitmap: Uint8Array, offset: number, into: Uint8Array, one: number): Uint8Array {
  for (let row = 0; row < into.length; row++) {
    const bit = offset + row;
    into[row] = (bitmap[bit >> 3]! >> (bit & 7)) & 1 ? one : 0;
  }
  return into;
}

function readStates(data: Data): Column {
  const states = newStates(data.length);
  readBits(data.values, data.offset, states, truth.true);
  const valid = readValid(data);
  if (valid !== null) {
    for (let row = 0; row < states.length; row++) {
      states[row] = valid[row] === 0 ? truth.unknown : states[row]!;
    }
  }
  return statesColumn(states);
}

/** IEEE 754 binary16 bits as numbers. */
function readHalves(bits: Uint16Array, length: number): Float32Array {
  const values = new Float32Array(length);
  for (let row = 0; row < length; row++) {
    const half = bits[row]!;
    const exponent = (half >> 10) & 31;
    const fraction = half & 1023;
    const magnitude =
      exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15);
    const special = fraction === 0 ? Infinity : NaN;
    values[row] = (half & 0x8000 ? -1 : 1) * (exponent === 31 ? special : magnitude);
  }
  return values;
}

function readNumbers(data: Data): NumberArray {
  const { type, length } = data;
  if (DataType.isFloat(type) && type.precision === Precision.HALF) {
    return readHalves(data.values as Uint16Array, length);
  }
  return (data.values as NumberArray).subarray(0, length);
}

/** Decimals are little-endian two's complement in words of 32 bits. */
function readWide(data: Data): readonly bigint[] {
  const words = data.values as Uint32Array;
  const { stride, length } = data;
  const bits = stride * 32;
  return Array.from({ length }, (_, row) => {
    let value = 0n;
    for (let word = stride - 1; word >= 0; word--) {
      value = (value << 32n) | BigInt(words[row * stride + word]!);
    }
    return BigInt.asIntN(bits, value);
  });
}

/** Offsets of 64 bits as numbers; one batch holds less than 4 GiB. */
function readOffsets(offsets: Int32Array | BigInt64Array): Uint32Array | Int32Array {
  return offsets instanceof Int32Array ? offsets : Uint32Array.from(offsets, Number);
}

function spans(data: Data): Pick<BytesColumn, 'starts' | 'ends'> {
  const offsets = readOffsets(data.valueOffsets);
  return { starts: offsets.subarray(0, data.length), ends: offsets.subarray(1, data.length + 1) };
}

function evenSpans(length: number, width: number): Pick<BytesColumn, 'starts' | 'ends'> {
  const starts = new Uint32Array(length);
  const ends = new Uint32Array(length);
  for (let row = 0; row < length; row++) {
    starts[row] = row * width;
    ends[row] = (row + 1) * width;
  }
  return { starts, ends };
}

/** Views of 16 bytes: up to 12 bytes lie in the view, longer values in a further buffer. */
function readViews(data: Data): Column {
  const { length } = data;
  const views = data.values as Uint8Array;
  const fields = new DataView(views.buffer, views.byteOffset, views.byteLength);
  const starts = new Uint32Array(length);
  const ends = new Uint32Array(length);
  for (let row = 0, end = 0; row < length; row++) {
    starts[row] = end;
    end += data.getValid(row) ? fields.getInt32(row * 16, true) : 0;
    ends[row] = end;
  }
  const bytes = new Uint8Array(ends[length - 1] ?? 0);
  for (let row = 0; row < length; row++) {
    const size = ends[row]! - starts[row]!;
    const far = size > 12 ? data.variadicBuffers[fields.getInt32(row * 16 + 8, true)] : undefined;
    const from = far === undefined ? row * 16 + 4 : fields.getInt32(row * 16 + 12, true);
    bytes.set((far ?? views).subarray(from, from + size), starts[row]);
  }
  return { kind: 'bytes', length, bytes, starts, ends, valid: readValid(data) };
}

function readBytes(data: Data): Column {
  const { type, length } = data;
  if (DataType.isUtf8View(type) || DataType.isBinaryView(type)) return readViews(data);
  const valid = readValid(data);
  const bytes = data.values as Uint8Array;
  if (DataType.isFixedSizeBinary(type)) {
    return { kind: 'bytes', length, bytes, ...evenSpans(length, type.byteWidth), valid };
  }
  return { kind: 'bytes', length, bytes, ...spans(data), valid };
}

function readList(data: Data): Column {
  const { type, length } = data;
  const child = readColumn(data.children[0]!);
  const where = DataType.isFixedSizeList(type) ? evenSpans(length, type.listSize) : spans(data);
  return { kind: 'list', length, child, ...where, valid: readValid(data) };
}

/** The values of a dictionary, and for each row the one it has; the row after the last is null. */
export interface Encoded {
  readonly values: Column;
  readonly rows: Uint32Array;
}

/** A dictionary column as values, a null behind them, and the row of a value for each row. */
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

/** A value of a dictionary may itself be null, beside the rows that have none. */
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

/** The column without the values of the rows that `valid` leaves out. */
export function hideRows(column: Column, valid: Valid): Column {
  if (valid === null || column.kind === 'null') return column;
  if (column.kind === 'states') {
    const states = newStates(column.length);
    for (let row = 0; row < states.length; row++) {
      states[row] = valid[row] === 0 ? truth.unknown : column.states[row]!;
    }
    return statesColumn(states);
  }
  const { length } = column;
  const both = column.valid === null ? valid : column.valid.map((bit, row) => bit & valid[row]!);
  return { ...column, length, valid: both };
}
