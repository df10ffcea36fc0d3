import type * as Arrow from 'apache-arrow';
import { arrow } from '../clients/lancedb.ts';

/**
 * A value of a column as it stands in Arrow's buffers (bytes in hex): whole numbers of 64 bits, times and
 * decimals (without their point) as bigints, so that nothing is lost on the way to a comparison.
 */
export type Value =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly Value[]
  | { readonly [name: string]: Value };

/** A column with its values. */
export interface Column {
  readonly name: string;
  readonly type: Arrow.DataType;
  readonly values: readonly Value[];
}

/** A table of columns, in the Arrow instance that LanceDB takes. */
export function tableOf(columns: readonly Column[]): Arrow.Table {
  const schema = new arrow.Schema(columns.map(({ name, type }) => new arrow.Field(name, type)));
  const fields = schema.fields.map(({ name, type }) => new arrow.Field(name, type, true));
  const nullable = new arrow.Schema(fields);
  const length = columns[0]?.values.length ?? 0;
  const children = columns.map(({ type, values }) => dataOf(type, values));
  const data = arrow.makeData({ type: new arrow.Struct(fields), length, nullCount: 0, children });
  return new arrow.Table(nullable, new arrow.RecordBatch(nullable, data));
}

function dataOf(type: Arrow.DataType, values: readonly Value[]): Arrow.Data {
  const bitmap = bitsOf(values.map((value) => value !== null));
  const nulls = values.filter((value) => value === null).length;
  const made = (buffers: object, children: Arrow.Data[] = []) =>
    new arrow.Data(type, 0, values.length, nulls, { 2: bitmap, ...buffers }, children);
  if (arrow.DataType.isUtf8(type)) return textData(values, made, 'utf8');
  if (arrow.DataType.isBinary(type)) return textData(values, made, 'hex');
  if (arrow.DataType.isBool(type))
    return made({ 1: bitsOf(values.map((value) => value === true)) });
  if (arrow.DataType.isList(type) || arrow.DataType.isMap(type))
    return listData(type, values, made);
  if (arrow.DataType.isStruct(type)) return made({}, structData(type, values));
  if (arrow.DataType.isFixedSizeList(type)) {
    const empty = Array.from({ length: type.listSize }, () => 0);
    const items = values.flatMap((value) => (value === null ? empty : itemsOf(value)));
    return made({}, [dataOf(type.children[0]!.type, items)]);
  }
  if (arrow.DataType.isDecimal(type)) return made({ 1: words(values) });
  const buffer = new type.ArrayType(values.length);
  values.forEach((value, row) => {
    if (value !== null) buffer[row] = value;
  });
  return made({ 1: buffer });
}

type Made = (buffers: object, children?: Arrow.Data[]) => Arrow.Data;

function textData(values: readonly Value[], made: Made, encoding: 'utf8' | 'hex'): Arrow.Data {
  const texts = values.map((value) =>
    Buffer.from(typeof value === 'string' ? value : '', encoding),
  );
  return made({ 0: offsetsOf(texts.map(({ length }) => length)), 1: Buffer.concat(texts) });
}

function listData(type: Arrow.List | Arrow.Map_, values: readonly Value[], made: Made): Arrow.Data {
  const lists = values.map((value) => (value === null ? [] : itemsOf(value)));
  const child = dataOf(type.children[0]!.type, lists.flat());
  return made({ 0: offsetsOf(lists.map(({ length }) => length)) }, [child]);
}

function structData(type: Arrow.Struct, values: readonly Value[]): Arrow.Data[] {
  return type.children.map((field) =>
    dataOf(
      field.type,
      values.map((value) => memberOf(value, field.name)),
    ),
  );
}

function itemsOf(value: Value): readonly Value[] {
  if (!Array.isArray(value)) throw new Error('a list is made of an array');
  return value;
}

function memberOf(value: Value, name: string): Value {
  if (value === null) return null;
  if (typeof value !== 'object' || Array.isArray(value)) throw new Error('a row is an object');
  return Object.entries(value).find(([key]) => key === name)?.[1] ?? null;
}

function offsetsOf(lengths: readonly number[]): Int32Array {
  const offsets = new Int32Array(lengths.length + 1);
  lengths.forEach((length, at) => (offsets[at + 1] = offsets[at]! + length));
  return offsets;
}

function bitsOf(flags: readonly boolean[]): Uint8Array {
  const bits = new Uint8Array(Math.ceil(flags.length / 64) * 8);
  flags.forEach((flag, at) => {
    if (flag) bits[at >> 3]! |= 1 << (at & 7);
  });
  return bits;
}

/** Decimals of 128 bits as their words. */
function words(values: readonly Value[]): Uint32Array {
  const all = new BigInt64Array(values.length * 2);
  values.forEach((value, row) => {
    if (typeof value !== 'bigint') return;
    all[2 * row] = BigInt.asIntN(64, value);
    all[2 * row + 1] = value >> 64n;
  });
  return new Uint32Array(all.buffer);
}

/** The values of a column of an answer. */
export function valuesIn(vector: Arrow.Vector): readonly Value[] {
  return vector.data.flatMap((data) =>
    Array.from({ length: data.length }, (_, at) => valueAt(data, at)),
  );
}

function valueAt(data: Arrow.Data, at: number): Value {
  const { type, children, values } = data;
  if (!data.getValid(at)) return null;
  if (arrow.DataType.isStruct(type)) {
    const members = type.children.map(({ name }, child) => [name, valueAt(children[child]!, at)]);
    return Object.fromEntries(members);
  }
  if (arrow.DataType.isFixedSizeList(type)) {
    const { listSize } = type;
    return Array.from({ length: listSize }, (_, item) =>
      valueAt(children[0]!, at * listSize + item),
    );
  }
  if (arrow.DataType.isList(type) || arrow.DataType.isMap(type)) {
    const [from, to] = [data.valueOffsets[at], data.valueOffsets[at + 1]];
    return Array.from({ length: to - from }, (_, item) => valueAt(children[0]!, from + item));
  }
  if (arrow.DataType.isDecimal(type)) return decimalText(decimalAt(values, at), type.scale);
  const plain = arrow.DataType.isInt(type) || arrow.DataType.isDate(type);
  const counted = arrow.DataType.isTimestamp(type) || arrow.DataType.isTime(type);
  if (plain || counted || arrow.DataType.isDuration(type)) return values[at];
  if (arrow.DataType.isBinary(type)) {
    return Buffer.from(new arrow.Vector([data]).get(at)).toString('hex');
  }
  return new arrow.Vector([data]).get(at);
}

function decimalAt(all: Uint32Array, at: number): bigint {
  const parts = [...all.subarray(4 * at, 4 * at + 4)].toReversed();
  return BigInt.asIntN(
    128,
    parts.reduce((sum, part) => (sum << 32n) | BigInt(part), 0n),
  );
}

/** A decimal without the zeros at its end, which say only what its type is. */
function decimalText(unscaled: bigint, scale: number): string {
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, '0');
  const cut = digits.length - scale;
  const text = `${digits.slice(0, cut)}.${digits.slice(cut)}`.replace(/\.?0*$/, '');
  return unscaled < 0n ? `-${text}` : text;
}

/**
 * A value as a text that equal values share: a whole float is like the integer, and a struct
 * of nothing but nulls like null, because LanceDB reads some null structs as such.
 */
export function textOf(value: Value): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (Object.is(value, -0)) return '-0';
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) return `[${value.map(textOf).join(', ')}]`;
  if (Object.values(value).every((member) => member === null)) return 'null';
  const members = Object.entries(value).map(([name, member]) => `${name}: ${textOf(member)}`);
  return `{${members.join(', ')}}`;
}
