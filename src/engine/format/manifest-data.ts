import {
  Binary,
  Bool,
  Int32,
  List,
  Utf8,
  type Data,
  type DataType,
  type Field,
  type Int64,
  type Uint64,
} from 'apache-arrow';
import { bitmapBytes } from '../../arrow/bitmap.ts';
import { dataOf } from '../../arrow/data.ts';

/* Columns of a manifest straight from rows: a builder that sees each value as anything is many times slower. */

/** Integers of 32 bits. */
export function integersData<Row>(rows: readonly Row[], valueOf: (row: Row) => number): Data {
  const values = new Int32Array(rows.length);
  for (let at = 0; at < rows.length; at++) values[at] = valueOf(rows[at]!);
  return dataOf(new Int32(), { length: rows.length, nullCount: 0, values });
}

/** Integers of 64 bits. */
export function bigintsData<Row>(
  type: Int64 | Uint64,
  rows: readonly Row[],
  valueOf: (row: Row) => bigint,
): Data {
  const values = new BigUint64Array(rows.length);
  for (let at = 0; at < rows.length; at++) values[at] = BigInt.asUintN(64, valueOf(rows[at]!));
  const typed = type.isSigned ? new BigInt64Array(values.buffer) : values;
  return dataOf(type, { length: rows.length, nullCount: 0, values: typed });
}

/** Booleans. */
export function bitsData<Row>(rows: readonly Row[], valueOf: (row: Row) => boolean): Data {
  const { bits } = bitsOf(rows, valueOf);
  return dataOf(new Bool(), { length: rows.length, nullCount: 0, values: bits });
}

/** Texts. */
export function textsData<Row>(rows: readonly Row[], valueOf: (row: Row) => string | null): Data {
  return pieces(new Utf8(), rows, (row) => {
    const text = valueOf(row);
    return text === null ? null : Buffer.from(text);
  });
}

/** Binaries. */
export function bytesData<Row>(
  rows: readonly Row[],
  valueOf: (row: Row) => Uint8Array | null,
): Data {
  return pieces(new Binary(), rows, valueOf);
}

/** Lists of integers of 32 bits. */
export function listsData<Row>(
  item: Field,
  rows: readonly Row[],
  valueOf: (row: Row) => readonly number[],
): Data {
  const offsets = new Int32Array(rows.length + 1);
  for (let at = 0; at < rows.length; at++)
    offsets[at + 1] = offsets[at]! + valueOf(rows[at]!).length;
  const values = new Int32Array(offsets[rows.length]!);
  for (let at = 0; at < rows.length; at++) values.set(valueOf(rows[at]!), offsets[at]);
  const child = dataOf(item.type, { length: values.length, nullCount: 0, values });
  return dataOf(new List(item), { length: rows.length, nullCount: 0, offsets, children: [child] });
}

function pieces<Row>(
  type: DataType,
  rows: readonly Row[],
  valueOf: (row: Row) => Uint8Array | null,
): Data {
  const found = rows.map(valueOf);
  const offsets = new Int32Array(rows.length + 1);
  for (let at = 0; at < found.length; at++) {
    offsets[at + 1] = offsets[at]! + (found[at]?.length ?? 0);
  }
  const values = new Uint8Array(offsets[rows.length]!);
  for (let at = 0; at < found.length; at++) {
    const piece = found[at];
    if (piece) values.set(piece, offsets[at]);
  }
  const { bits, count } = bitsOf(found, (piece) => piece !== null);
  const nullCount = rows.length - count;
  return dataOf(type, { length: rows.length, nullCount, validity: bits, values, offsets });
}

function bitsOf<Row>(rows: readonly Row[], isSet: (row: Row) => boolean) {
  const bits = new Uint8Array(bitmapBytes(rows.length));
  let count = 0;
  for (let at = 0; at < rows.length; at++) {
    if (!isSet(rows[at]!)) continue;
    bits[at >> 3]! |= 1 << (at & 7);
    count++;
  }
  return { bits, count };
}
