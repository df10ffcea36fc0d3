import { DataType, type Data, type Vector } from 'apache-arrow';
import { columnData } from '../../../arrow/data.ts';

/** Compares two rows with values: negative if the left one comes first. */
export type Comparison = (left: number, right: number) => number;

/** Whether values of a type can be sorted. */
export function hasOrder(type: DataType): boolean {
  return orders.some((order) => order.of(plainType(type)));
}

/**
 * Comparison of a column's rows: numbers and times by size with NaN last, text and binary by bytes,
 * false before true.
 */
export function comparisonOf(column: Vector): Comparison {
  const order = orders.find(({ of }) => of(plainType(column.type)));
  if (order === undefined) throw new Error(`values of type ${column.type} have no order`);
  return order.comparison(column);
}

function plainType(type: DataType): DataType {
  return DataType.isDictionary(type) ? type.dictionary : type;
}

interface Order {
  readonly of: (type: DataType) => boolean;
  readonly comparison: (column: Vector) => Comparison;
}

const orders: readonly Order[] = [
  { of: (type) => DataType.isNull(type), comparison: () => () => 0 },
  { of: (type) => DataType.isBool(type), comparison: (column) => bySize(each(column, Number)) },
  { of: (type) => DataType.isFloat(type), comparison: (column) => byNumber(floats(column)) },
  { of: isFixedWidth, comparison: (column) => bySize(fixedWidth(column)) },
  { of: (type) => DataType.isDecimal(type), comparison: (column) => bySize(each(column, decimal)) },
  { of: isText, comparison: (column) => textOrder(column) ?? byText(each(column, String)) },
  { of: isBytes, comparison: (column) => byBytes(each(column, bytes)) },
];

function isFixedWidth(type: DataType): boolean {
  return (
    DataType.isInt(type) ||
    DataType.isDate(type) ||
    DataType.isTime(type) ||
    DataType.isTimestamp(type) ||
    DataType.isDuration(type)
  );
}

function isText(type: DataType): boolean {
  return DataType.isUtf8(type) || DataType.isLargeUtf8(type) || DataType.isUtf8View(type);
}

function isBytes(type: DataType): boolean {
  return (
    DataType.isBinary(type) ||
    DataType.isLargeBinary(type) ||
    DataType.isBinaryView(type) ||
    DataType.isFixedSizeBinary(type)
  );
}

function each<Value>(column: Vector, of: (value: unknown) => Value): readonly Value[] {
  return Array.from({ length: column.length }, (_, row) => of(column.get(row)));
}

function floats(column: Vector): ArrayLike<number> {
  const own = ownValues(column);
  return own instanceof Float32Array || own instanceof Float64Array ? own : each(column, Number);
}

/** The stored integers: `get` would round times to milliseconds. */
function fixedWidth(column: Vector): ArrayLike<number | bigint> {
  if (!DataType.isDictionary(column.type)) return ownValues(column);
  const entries = columnData(column).dictionary?.data.flatMap(numbersOf) ?? [];
  const indices = ownValues(column);
  return Array.from({ length: column.length }, (_, row) => entries[Number(indices[row])] ?? 0);
}

function ownValues(column: Vector): ArrayLike<number | bigint> {
  const [data] = column.data;
  if (data === undefined || column.data.length > 1)
    throw new Error('the column is not in one piece');
  return data.values;
}

function numbersOf(data: Data): readonly (number | bigint)[] {
  const values: ArrayLike<number | bigint> = data.values;
  return Array.from({ length: data.length }, (_, at) => values[at]!);
}

function decimal(value: unknown): bigint {
  if (!(value instanceof Uint32Array)) return 0n;
  const unsigned = value.reduceRight((sum, word) => (sum << 32n) | BigInt(word), 0n);
  return BigInt.asIntN(32 * value.length, unsigned);
}

function bytes(value: unknown): Uint8Array {
  return value instanceof Uint8Array ? value : new Uint8Array();
}

function bySize(values: ArrayLike<number | bigint>): Comparison {
  return (left, right) => {
    const [one, other] = [values[left]!, values[right]!];
    return one < other ? -1 : Number(one > other);
  };
}

function byNumber(values: ArrayLike<number>): Comparison {
  return (left, right) => {
    const [one, other] = [values[left]!, values[right]!];
    if (one < other) return -1;
    if (one > other) return 1;
    return Number(Number.isNaN(one)) - Number(Number.isNaN(other));
  };
}

function byBytes(values: readonly Uint8Array[]): Comparison {
  return (left, right) => Buffer.compare(values[left]!, values[right]!);
}

/** Compares texts by their stored bytes; null if the column has several chunks. */
function textOrder(column: Vector): Comparison | null {
  const [data] = column.data;
  if (data === undefined || column.data.length > 1 || !DataType.isUtf8(data.type)) return null;
  const values: Uint8Array = data.values;
  const offsets: Int32Array = data.valueOffsets;
  return (left, right) => {
    const [start, other] = [offsets[left]!, offsets[right]!];
    const [length, otherLength] = [offsets[left + 1]! - start, offsets[right + 1]! - other];
    const common = Math.min(length, otherLength);
    let at = 0;
    while (at < common && values[start + at] === values[other + at]) at++;
    return at < common ? values[start + at]! - values[other + at]! : length - otherLength;
  };
}

/**
 * Compares texts in the order of UTF-8 bytes, which is that of code points, not of UTF-16 units.
 */
function byText(values: readonly string[]): Comparison {
  return (left, right) => compareText(values[left]!, values[right]!);
}

function compareText(left: string, right: string): number {
  if (left === right) return 0;
  const length = Math.min(left.length, right.length);
  let at = 0;
  while (at < length && left.charCodeAt(at) === right.charCodeAt(at)) at++;
  if (at === length) return left.length - right.length;
  return codePointRank(left.charCodeAt(at)) - codePointRank(right.charCodeAt(at));
}

/** Surrogates encode code points above all others. */
function codePointRank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}
