import {
  DataType,
  Vector,
  type Data,
  type DataType as DataTypeClass,
  type Decimal,
  type FixedSizeList,
} from 'apache-arrow';
import { countBits, packBits } from '../../arrow/bitmap.ts';
import { dataOf, wordsOf, type DataParts } from '../../arrow/data.ts';
import { inlineCapacity, layoutOf, viewWidth } from '../../arrow/layout.ts';
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
import { SqlError } from './sql-error.ts';
import { maxTextBytes, maxWrittenElements } from './limits.ts';
import { hold, spend } from './meter.ts';
import { constantColumn } from './scalar.ts';
import { takeRows } from './take.ts';
import { elementType, sqlTypeName } from './types.ts';

/** Data of a column's rows, with the validity bitmap of its mask. */
function dataOfRows(
  type: DataTypeClass,
  { length, valid }: { readonly length: number; readonly valid: Valid },
  parts: Omit<DataParts, 'length' | 'nullCount' | 'validity'>,
): Data {
  if (valid === null) return dataOf(type, { ...parts, length, nullCount: 0 });
  const validity = packBits(valid, 1);
  const nullCount = length - countBits(validity, 0, length);
  return dataOf(type, { ...parts, length, nullCount, validity });
}

function wideData(type: Decimal, column: Extract<Column, { kind: 'wide' }>): Data {
  const { values, length } = column;
  const stride = type.bitWidth / 32;
  const data = new Uint32Array(length * stride);
  values.forEach((value, row) => {
    let rest = BigInt.asUintN(type.bitWidth, value);
    for (let word = 0; word < stride; word++, rest >>= 32n) {
      data[row * stride + word] = Number(rest & 0xffff_ffffn);
    }
  });
  return dataOfRows(type, column, { values: data });
}

function isContiguous(column: BytesColumn | ListColumn): boolean {
  for (let row = 1; row < column.length; row++) {
    if (column.starts[row] !== column.ends[row - 1]) return false;
  }
  return true;
}

/**
 * Offsets of consecutive rows, from 0. A value that is the same
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
  if (DataType.isFixedSizeBinary(type)) {
    return dataOfRows(type, column, { values: fixedBytes(column, type.byteWidth) });
  }
  const offsets = packedOffsets(column);
  const values = packedBytes(column, offsets);
  return DataType.isUtf8View(type) || DataType.isBinaryView(type)
    ? viewData(type, column, offsets, values)
    : dataOfRows(type, column, { offsets: offsetsAs(type, offsets), values });
}

/** The offsets as a type has them, of 32 or 64 bits. */
function offsetsAs(type: DataTypeClass, offsets: Int32Array): Int32Array | BigInt64Array {
  const layout = layoutOf(type);
  if (layout !== 'large-bytes' && layout !== 'large-list') return offsets;
  const large = new BigInt64Array(offsets.length);
  const words = wordsOf(large);
  for (let row = 0; row < offsets.length; row++) words[2 * row] = offsets[row]!;
  return large;
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
  type: DataTypeClass,
  column: BytesColumn,
  offsets: Int32Array,
  bytes: Uint8Array,
): Data {
  const views = new Uint8Array(column.length * viewWidth);
  const words = wordsOf(views);
  for (let row = 0; row < column.length; row++) {
    const from = offsets[row]!;
    const size = offsets[row + 1]! - from;
    const inline = size > inlineCapacity ? 4 : inlineCapacity;
    words[row * 4] = size;
    views.set(bytes.subarray(from, from + Math.min(size, inline)), row * viewWidth + 4);
    if (size > inlineCapacity) words[row * 4 + 3] = from;
  }
  return dataOfRows(type, column, { values: views, variadic: [bytes] });
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
  if (DataType.isFixedSizeList(type)) return fixedListData(type, column);
  const offsets = packedOffsets(column);
  const child = dataOfColumn(packedChild(column, offsets), elementType(type));
  return dataOfRows(type, column, { offsets: offsetsAs(type, offsets), children: [child] });
}

/** Every row of a fixed-size list has items in the child, null rows too. */
function fixedListData(type: FixedSizeList, column: ListColumn): Data {
  const { listSize } = type;
  const inner = elementType(type);
  // Null lists may have no items: their items become nulls.
  const nothing = column.valid === null ? [] : [constantColumn(inner, null, 1)];
  const values = appendAll([column.child, ...nothing]);
  const rows = new Uint32Array(column.length * listSize).fill(values.length - 1);
  for (let row = 0; row < column.length; row++) {
    for (let at = 0; at < (isValid(column, row) ? listSize : 0); at++) {
      rows[row * listSize + at] = column.starts[row]! + at;
    }
  }
  const child = dataOfColumn(takeRows(values, rows), inner);
  return dataOfRows(type, column, { children: [child] });
}

type Writers = {
  readonly [Kind in Column['kind']]: (
    column: Extract<Column, { kind: Kind }>,
    type: DataTypeClass,
  ) => Data;
};

const writers: Writers = {
  states: (column, type) =>
    dataOfRows(
      type,
      { length: column.length, valid: validOf(column) },
      { values: packBits(column.states, truth.true) },
    ),
  number: (column, type) => dataOfRows(type, column, { values: column.values }),
  bigint: (column, type) => dataOfRows(type, column, { values: column.values }),
  wide: (column, type) => wideData(type as Decimal, column),
  bytes: (column, type) => bytesData(type, column),
  list: (column, type) => listData(type, column),
  struct: (column, type) =>
    dataOfRows(type, column, {
      children: type.children.map((child, at) => dataOfColumn(column.field(at), child.type)),
    }),
  nested: (_, type) => {
    throw new TypeError(`${sqlTypeName(type)} cannot be written`);
  },
  null: ({ length }, type) => dataOf(type, { length, nullCount: length }),
};

function dataOfColumn(column: Column, type: DataTypeClass): Data {
  if (column.kind === 'null' && !DataType.isNull(type)) {
    return dataOfColumn(constantColumn(type, null, column.length), type);
  }
  return writers[column.kind](column as never, type);
}

/** The Arrow vector of a column; `type` is the plain type it was computed as. */
export function vectorOf(column: Column, type: DataTypeClass): Vector {
  return new Vector([dataOfColumn(column, type)]);
}
