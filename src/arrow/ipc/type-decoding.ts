import {
  Binary,
  BinaryView,
  Bool,
  type DataType,
  Date_,
  Decimal,
  Duration,
  type Field,
  FixedSizeBinary,
  FixedSizeList,
  Float,
  Int,
  Interval,
  LargeBinary,
  LargeList,
  LargeUtf8,
  List,
  Null,
  Struct,
  Time,
  Timestamp,
  Union,
  Utf8,
  Utf8View,
} from 'apache-arrow';
import { ArrowError, corrupt } from '../arrow-error.ts';
import type { FlatTable } from './flatbuffer.ts';
import { mapType } from '../nested-type.ts';

/** Input of decoding a type: its table (none for types without settings), its children, the column's name. */
interface Source {
  readonly table: FlatTable | undefined;
  readonly children: readonly Field[];
  readonly name: string;
}

/** The numbers of the union `Type` in the format's Schema.fbs. */
const decoders: Readonly<Record<number, (source: Source) => DataType>> = {
  1: () => new Null(),
  2: decodeInt,
  3: ({ table, name }) => new Float(oneOf([0, 1, 2], table?.int16(0) ?? 0, name)),
  4: () => new Binary(),
  5: () => new Utf8(),
  6: () => new Bool(),
  7: decodeDecimal,
  8: ({ table, name }) => new Date_(oneOf([0, 1], table?.int16(0, 1) ?? 1, name)),
  9: decodeTime,
  10: ({ table, name }) =>
    new Timestamp(oneOf([0, 1, 2, 3], table?.int16(0) ?? 0, name), table?.string(1) || null),
  11: ({ table, name }) => new Interval(oneOf([0, 1, 2], table?.int16(0) ?? 0, name)),
  12: (source) => new List(onlyChild(source)),
  13: ({ children }) => new Struct([...children]),
  14: decodeUnion,
  15: ({ table, name }) => new FixedSizeBinary(size(table, name)),
  16: (source) => new FixedSizeList(size(source.table, source.name), onlyChild(source)),
  17: decodeMap,
  18: ({ table, name }) => new Duration(oneOf([0, 1, 2, 3], table?.int16(0, 1) ?? 1, name)),
  19: () => new LargeBinary(),
  20: () => new LargeUtf8(),
  21: (source) => new LargeList(onlyChild(source)),
  23: () => new BinaryView(),
  24: () => new Utf8View(),
};

/** Types of the format that are not supported, by their number in Schema.fbs. */
const refused: Readonly<Record<number, string>> = {
  22: 'RunEndEncoded',
  25: 'ListView',
  26: 'LargeListView',
};

/**
 * The type with a number of Schema.fbs. Throws `unsupported`, naming the
 * column, for a type that is not kept, and `corrupt` for impossible settings.
 */
export function decodeType(
  id: number,
  table: FlatTable | undefined,
  children: readonly Field[],
  name: string,
): DataType {
  const decode = decoders[id];
  if (decode !== undefined) return decode({ table, children, name });
  const type = refused[id] ?? `number ${id}`;
  throw new ArrowError(
    'unsupported',
    `Column "${name}" has the type ${type}, which is not supported.`,
  );
}

/** An integer type from its table. */
export function decodeInt({ table, name }: Pick<Source, 'table' | 'name'>): Int {
  const width = oneOf([8, 16, 32, 64], table?.int32(0) ?? 0, name);
  return new Int(table?.bool(1) ?? false, width);
}

function decodeDecimal({ table, name }: Source): Decimal {
  const width = oneOf([32, 64, 128, 256], table?.int32(2, 128) ?? 128, name);
  const precision = table?.int32(0) ?? 0;
  const most = { 32: 9, 64: 18, 128: 38, 256: 76 }[width];
  if (precision < 1 || precision > most) {
    throw corrupt(`Column "${name}" is a ${width}-bit decimal with the precision ${precision}.`);
  }
  return new Decimal(table?.int32(1) ?? 0, precision, width);
}

function decodeTime({ table, name }: Source): Time {
  const unit = oneOf([0, 1, 2, 3], table?.int16(0, 1) ?? 1, name);
  const width = oneOf([32, 64], table?.int32(1, 32) ?? 32, name);
  if (width !== (unit < 2 ? 32 : 64)) {
    throw corrupt(`Column "${name}" is a time whose unit does not fit its ${width} bits.`);
  }
  return new Time(unit, width);
}

function decodeUnion({ table, children, name }: Source): Union {
  const mode = oneOf([0, 1], table?.int16(0) ?? 0, name);
  const ids = table?.int32s(1) ?? Int32Array.from(children, (_, index) => index);
  const sane = ids.every((id) => id >= 0 && id < 128) && new Set(ids).size === ids.length;
  if (!sane || ids.length !== children.length) {
    throw corrupt(`Column "${name}" is a union whose type ids do not match its children.`);
  }
  return new Union(mode, ids, [...children]);
}

function decodeMap(source: Source): DataType {
  const entries = onlyChild(source);
  const [key, value, ...more] = entries.type instanceof Struct ? entries.type.children : [];
  if (key === undefined || value === undefined || more.length > 0) {
    throw corrupt(`Column "${source.name}" is a map whose entries are not a key and a value.`);
  }
  if (entries.nullable || key.nullable) {
    throw corrupt(`Column "${source.name}" is a map whose entries or keys may be null.`);
  }
  return mapType(entries, source.table?.bool(0) ?? false);
}

function onlyChild({ children, name }: Source): Field {
  const [child] = children;
  if (child === undefined || children.length !== 1) {
    throw corrupt(`Column "${name}" is a list with ${children.length} item fields.`);
  }
  return child;
}

function size(table: FlatTable | undefined, name: string): number {
  const value = table?.int32(0) ?? 0;
  if (value < 0) throw corrupt(`Column "${name}" has the fixed size ${value}.`);
  return value;
}

function oneOf<T extends number>(allowed: readonly T[], value: number, name: string): T {
  const found = allowed.find((entry) => entry === value);
  if (found === undefined) {
    throw corrupt(`Column "${name}" has a type with the unknown setting ${value}.`);
  }
  return found;
}
