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
import { bitmapBytes, setBit } from '../../arrow/bitmap.ts';
import { dataOf } from '../../arrow/data.ts';

/* Columns of a manifest straight from rows: a builder that sees each value as anything is many times slower. */

/** A column of 32-bit integers. */
export function integersData<Row>(rows: readonly Row[], valueOf: (row: Row) => number): Data {
  const values = new Int32Array(rows.length);
  for (const [at, row] of rows.entries()) values[at] = valueOf(row);
  return dataOf(new Int32(), { length: rows.length, nullCount: 0, values });
}

/** A column of 64-bit integers. */
export function bigintsData<Row>(
  type: Int64 | Uint64,
  rows: readonly Row[],
  valueOf: (row: Row) => bigint,
): Data {
  const values = new BigUint64Array(rows.length);
  for (const [at, row] of rows.entries()) values[at] = BigInt.asUintN(64, valueOf(row));
  const typed = type.isSigned ? new BigInt64Array(values.buffer) : values;
  return dataOf(type, { length: rows.length, nullCount: 0, values: typed });
}

/** A column of booleans. */
export function bitsData<Row>(rows: readonly Row[], valueOf: (row: Row) => boolean): Data {
  const { bits } = bitsOf(rows, valueOf);
  return dataOf(new Bool(), { length: rows.length, nullCount: 0, values: bits });
}

/** A column of texts. */
export function textsData<Row>(rows: readonly Row[], valueOf: (row: Row) => string | null): Data {
  return pieces(new Utf8(), rows, (row) => {
    const text = valueOf(row);
    return text === null ? null : Buffer.from(text);
  });
}

/** A column of binaries. */
export function bytesData<Row>(
  rows: readonly Row[],
  valueOf: (row: Row) => Uint8Array | null,
): Data {
  return pieces(new Binary(), rows, valueOf);
}

/** A column of lists of 32-bit integers. */
export function listsData<Row>(
  item: Field,
  rows: readonly Row[],
  valueOf: (row: Row) => readonly number[],
): Data {
  const lists = rows.map(valueOf);
  const { offsets, length } = offsetsOf(lists);
  const values = new Int32Array(length);
  for (const [at, list] of lists.entries()) values.set(list, offsets[at]);
  const child = dataOf(item.type, { length: values.length, nullCount: 0, values });
  return dataOf(new List(item), { length: rows.length, nullCount: 0, offsets, children: [child] });
}

function pieces<Row>(
  type: DataType,
  rows: readonly Row[],
  valueOf: (row: Row) => Uint8Array | null,
): Data {
  const found = rows.map(valueOf);
  const { offsets, length } = offsetsOf(found);
  const values = new Uint8Array(length);
  for (const [at, piece] of found.entries()) if (piece !== null) values.set(piece, offsets[at]);
  const { bits, count } = bitsOf(found, (piece) => piece !== null);
  const nullCount = rows.length - count;
  const validity = nullCount === 0 ? undefined : bits;
  return dataOf(type, { length: rows.length, nullCount, validity, values, offsets });
}

/** Offsets of consecutive pieces, and their total length. */
function offsetsOf(pieces: readonly (ArrayLike<number> | null)[]) {
  const offsets = new Int32Array(pieces.length + 1);
  let length = 0;
  for (const [at, piece] of pieces.entries()) offsets[at + 1] = length += piece?.length ?? 0;
  return { offsets, length };
}

function bitsOf<Row>(rows: readonly Row[], isSet: (row: Row) => boolean) {
  const bits = new Uint8Array(bitmapBytes(rows.length));
  let count = 0;
  for (const [at, row] of rows.entries()) {
    if (!isSet(row)) continue;
    setBit(bits, at);
    count++;
  }
  return { bits, count };
}
