import {
  BufferType,
  Data,
  DataType,
  makeData,
  Vector,
  type Binary,
  type BinaryView,
  type DataType as DataTypeClass,
  type Decimal,
  type FixedSizeList,
  type List,
  type Null,
  type Struct,
  type Utf8View,
} from 'apache-arrow';
import {
  isValid,
  truth,
  validOf,
  type BytesColumn,
  type Column,
  type ListColumn,
  type Valid,
} from './column.ts';
import { appendAll } from './append.ts';
import { SqlError } from './errors.ts';
import { maxTextBytes, maxWrittenElements } from './limits.ts';
import { hold, spend } from './meter.ts';
import { constantColumn } from './scalar.ts';
import { takeRows } from './take.ts';
import { elementType, typeName } from './types.ts';

/** Data of values of one width, or of bits. */
function fixedData(
  type: DataTypeClass,
  length: number,
  values: ArrayBufferView,
  valid: Valid,
): Data {
  const { nullBitmap, nullCount } = bitmapOf(valid, length);
  const validity = nullBitmap === null ? {} : { [BufferType.VALIDITY]: nullBitmap };
  return new Data(type, 0, length, nullCount, { [BufferType.DATA]: values, ...validity });
}

/** The validity bitmap of a mask, and the number of nulls in it. */
function bitmapOf(
  valid: Valid,
  length: number,
): { nullBitmap: Uint8Array | null; nullCount: number } {
  if (valid === null) return { nullBitmap: null, nullCount: 0 };
  const nullBitmap = new Uint8Array(Math.ceil(length / 64) * 8);
  let nullCount = length;
  for (let row = 0; row < length; row++) {
    if (valid[row] === 1) {
      nullBitmap[row >> 3]! |= 1 << (row & 7);
      nullCount--;
    }
  }
  return { nullBitmap, nullCount };
}

function boolData(type: DataTypeClass, column: Extract<Column, { kind: 'states' }>): Data {
  const { states, length } = column;
  const data = new Uint8Array(Math.ceil(length / 64) * 8);
  for (let row = 0; row < length; row++) {
    if (states[row] === truth.true) data[row >> 3]! |= 1 << (row & 7);
  }
  return fixedData(type, length, data, validOf(column));
}

function wideData(type: Decimal, column: Extract<Column, { kind: 'wide' }>): Data {
  const { values, length, valid } = column;
  const stride = type.bitWidth / 32;
  const data = new Uint32Array(length * stride);
  values.forEach((value, row) => {
    let rest = BigInt.asUintN(type.bitWidth, value);
    for (let word = 0; word < stride; word++, rest >>= 32n) {
      data[row * stride + word] = Number(rest & 0xffff_ffffn);
    }
  });
  return fixedData(type, length, data, valid);
}

function isContiguous(column: BytesColumn | ListColumn): boolean {
  for (let row = 1; row < column.length; row++) {
    if (column.starts[row] !== column.ends[row - 1]) return false;
  }
  return true;
}

/**
 * Offsets of rows that lie one behind the other, beginning at 0. A value that is the same
 * for all rows is held once and written for each. Throws SqlError `limit` for too much.
 */
function packedOffsets(column: BytesColumn | ListColumn): Int32Array {
  const offsets = new Int32Array(column.length + 1);
  const most = column.kind === 'bytes' ? maxTextBytes : maxWrittenElements;
  for (let row = 0; row < column.length; row++) {
    const size =
      column.valid !== null && column.valid[row] === 0
        ? 0
        : column.ends[row]! - column.starts[row]!;
    offsets[row + 1] = offsets[row]! + size;
    if (offsets[row]! + size > most) {
      throw new SqlError(
        'limit',
        `expected at most ${most} ${column.kind === 'bytes' ? 'bytes of text' : 'elements of lists'} in a result, found more`,
        1,
      );
    }
  }
  return offsets;
}

function packedBytes(column: BytesColumn, offsets: Int32Array): Uint8Array {
  const { bytes, starts, ends, length, valid } = column;
  if (valid === null && length > 0 && isContiguous(column)) {
    return bytes.subarray(starts[0], ends[length - 1]);
  }
  hold(offsets[length]!);
  const packed = new Uint8Array(offsets[length]!);
  for (let row = 0; row < length; row++) {
    const from = offsets[row]!;
    spend(offsets[row + 1]! - from);
    packed.set(bytes.subarray(starts[row], starts[row]! + offsets[row + 1]! - from), from);
  }
  return packed;
}

function bytesData(type: DataTypeClass, column: BytesColumn): Data {
  const { length, valid } = column;
  if (DataType.isFixedSizeBinary(type)) {
    return fixedData(type, length, fixedBytes(column, type.byteWidth), valid);
  }
  const offsets = packedOffsets(column);
  const data = packedBytes(column, offsets);
  const nulls = bitmapOf(valid, length);
  if (DataType.isUtf8View(type) || DataType.isBinaryView(type)) {
    return viewData(type, column, offsets, data);
  }
  if (DataType.isLargeUtf8(type)) {
    return makeData({
      type,
      length,
      valueOffsets: BigInt64Array.from(offsets, BigInt),
      data,
      ...nulls,
    });
  }
  if (DataType.isLargeBinary(type)) {
    return makeData({
      type,
      length,
      valueOffsets: BigInt64Array.from(offsets, BigInt),
      data,
      ...nulls,
    });
  }
  return DataType.isUtf8(type)
    ? makeData({ type, length, valueOffsets: offsets, data, ...nulls })
    : makeData({ type: type as Binary, length, valueOffsets: offsets, data, ...nulls });
}

function fixedBytes(column: BytesColumn, width: number): Uint8Array {
  const packed = new Uint8Array(column.length * width);
  for (let row = 0; row < column.length; row++) {
    packed.set(column.bytes.subarray(column.starts[row], column.ends[row]), row * width);
  }
  return packed;
}

/** Views over one further buffer that holds the values longer than 12 bytes. */
function viewData(
  type: Utf8View | BinaryView,
  column: BytesColumn,
  offsets: Int32Array,
  bytes: Uint8Array,
): Data {
  const { length, valid } = column;
  const views = new Uint8Array(length * 16);
  const fields = new DataView(views.buffer);
  for (let row = 0; row < length; row++) {
    const from = offsets[row]!;
    const size = offsets[row + 1]! - from;
    fields.setInt32(row * 16, size, true);
    views.set(bytes.subarray(from, from + Math.min(size, size > 12 ? 4 : 12)), row * 16 + 4);
    if (size > 12) fields.setInt32(row * 16 + 12, from, true);
  }
  const shared = { length, variadicBuffers: [bytes], views, ...bitmapOf(valid, length) };
  return DataType.isUtf8View(type) ? makeData({ type, ...shared }) : makeData({ type, ...shared });
}

/** The rows of a list's child in the order of the lists, without those of no list. */
function packedChild(column: ListColumn, offsets: Int32Array): Column {
  hold(offsets[column.length]! * 4);
  spend(offsets[column.length]! * 4);
  const rows = new Uint32Array(offsets[column.length]!);
  for (let row = 0; row < column.length; row++) {
    for (let at = offsets[row]!; at < offsets[row + 1]!; at++) {
      rows[at] = column.starts[row]! + at - offsets[row]!;
    }
  }
  return takeRows(column.child, rows);
}

function listData(type: DataTypeClass, column: ListColumn): Data {
  const { length, valid } = column;
  const nulls = bitmapOf(valid, length);
  if (DataType.isFixedSizeList(type)) return fixedListData(type, column);
  const offsets = packedOffsets(column);
  const child = dataOf(packedChild(column, offsets), elementType(type));
  if (DataType.isMap(type)) {
    return makeData({ type, length, valueOffsets: offsets, child, ...nulls });
  }
  if (DataType.isLargeList(type)) {
    return makeData({
      type,
      length,
      valueOffsets: BigInt64Array.from(offsets, BigInt),
      child,
      ...nulls,
    });
  }
  return makeData({ type: type as List, length, valueOffsets: offsets, child, ...nulls });
}

/** Every row of a list of fixed size has its rows in the child, a null one too. */
function fixedListData(type: FixedSizeList, column: ListColumn): Data {
  const { listSize } = type;
  const inner = elementType(type);
  // What lies under a null list need not be there: it becomes nulls.
  const nothing = column.valid === null ? [] : [constantColumn(inner, null, 1)];
  const values = appendAll([column.child, ...nothing]);
  const rows = new Uint32Array(column.length * listSize).fill(values.length - 1);
  for (let row = 0; row < column.length; row++) {
    for (let at = 0; at < (isValid(column, row) ? listSize : 0); at++) {
      rows[row * listSize + at] = column.starts[row]! + at;
    }
  }
  const child = dataOf(takeRows(values, rows), inner);
  return makeData({ type, length: column.length, child, ...bitmapOf(column.valid, column.length) });
}

type Writers = {
  readonly [Kind in Column['kind']]: (
    column: Extract<Column, { kind: Kind }>,
    type: DataTypeClass,
  ) => Data;
};

const writers: Writers = {
  states: (column, type) => boolData(type, column),
  number: ({ length, values, valid }, type) => fixedData(type, length, values, valid),
  bigint: ({ length, values, valid }, type) => fixedData(type, length, values, valid),
  wide: (column, type) => wideData(type as Decimal, column),
  bytes: (column, type) => bytesData(type, column),
  list: (column, type) => listData(type, column),
  struct: ({ length, field, valid }, type) =>
    makeData({
      type: type as Struct,
      length,
      children: type.children.map((child, at) => dataOf(field(at), child.type)),
      ...bitmapOf(valid, length),
    }),
  nested: (_, type) => {
    throw new TypeError(`${typeName(type)} cannot be written`);
  },
  null: ({ length }, type) => makeData({ type: type as Null, length }),
};

function dataOf(column: Column, type: DataTypeClass): Data {
  if (column.kind === 'null' && !DataType.isNull(type)) {
    return dataOf(constantColumn(type, null, column.length), type);
  }
  return writers[column.kind](column as never, type);
}

/** The Arrow vector of a column; `type` is the plain type it was computed as. */
export function vectorOf(column: Column, type: DataTypeClass): Vector {
  return new Vector([dataOf(column, type)]);
}
