import {
  DataType,
  DateDay,
  DateUnit,
  Field,
  Float32,
  Int16,
  Int32,
  Int64,
  Int8,
  List as ListType,
  Map_,
  Precision,
  Struct as StructType,
  TimeUnit,
  Type,
  Uint16,
  Uint32,
  Uint64,
  Uint8,
  type Decimal,
  type Duration,
  type FixedSizeList,
  type LargeList,
  type List,
  type Time,
  type Timestamp,
} from 'apache-arrow';
import { isText } from '../../arrow/layout.ts';
import { floatNames, timeUnits } from '../../arrow/types.ts';

/** The family of a type: its kind of values, of any width. */
export type Family =
  | 'null'
  | 'boolean'
  | 'integer'
  | 'float'
  | 'decimal'
  | 'text'
  | 'binary'
  | 'date'
  | 'time'
  | 'timestamp'
  | 'duration'
  | 'interval'
  | 'list'
  | 'struct'
  | 'map'
  | 'other';

type ListLike = List | LargeList | FixedSizeList;
type MapEntries = StructType<{ key: DataType; value: DataType }>;

/** Whether a type is one of the three lists. */
export function isList(type: DataType): type is ListLike {
  return DataType.isList(type) || DataType.isLargeList(type) || DataType.isFixedSizeList(type);
}

function isBinary(type: DataType): boolean {
  return (
    DataType.isBinary(type) ||
    DataType.isLargeBinary(type) ||
    DataType.isBinaryView(type) ||
    DataType.isFixedSizeBinary(type)
  );
}

const families: readonly (readonly [(type: DataType) => boolean, Family])[] = [
  [(type) => DataType.isInt(type), 'integer'],
  [isText, 'text'],
  [(type) => DataType.isFloat(type), 'float'],
  [(type) => DataType.isBool(type), 'boolean'],
  [(type) => DataType.isTimestamp(type), 'timestamp'],
  [(type) => DataType.isDate(type), 'date'],
  [(type) => DataType.isDecimal(type), 'decimal'],
  [isList, 'list'],
  [(type) => DataType.isStruct(type), 'struct'],
  [(type) => DataType.isMap(type), 'map'],
  [isBinary, 'binary'],
  [(type) => DataType.isTime(type), 'time'],
  [(type) => DataType.isDuration(type), 'duration'],
  [(type) => DataType.isInterval(type), 'interval'],
  [(type) => DataType.isNull(type), 'null'],
];

/** The family of a type that is no dictionary. */
export function familyOf(type: DataType): Family {
  return families.find(([test]) => test(type))?.[1] ?? 'other';
}

/**
 * The type that an operator sees and gives: that of a dictionary's values, and
 * float32 for half floats. A dictionary of structs stays what it is.
 */
export function plainType(type: DataType): DataType {
  if (DataType.isDictionary(type)) {
    const values = plainType(type.dictionary);
    return isComputable(values) ? values : type;
  }
  if (DataType.isFloat(type) && type.precision === Precision.HALF) return new Float32();
  const isMap = DataType.isMap(type);
  if (!isList(type) && !DataType.isStruct(type) && !isMap) return type;
  const fields = type.children.map((field): Field => {
    const inner = plainType(field.type);
    return inner === field.type ? field : new Field(field.name, inner, field.nullable);
  });
  if (fields.every((field, at) => field === type.children[at])) return type;
  if (isMap) return new Map_(fields[0] as Field<MapEntries>, type.keysSorted);
  return isList(type) ? new ListType(fields[0]!) : new StructType(fields);
}

/** Whether an operator can produce values of a type; unions and intervals are only passed through. */
export function isComputable(type: DataType): boolean {
  const family = familyOf(type);
  if (family === 'list' || family === 'struct' || family === 'map') {
    return type.children.every((field) => isComputable(field.type));
  }
  return family !== 'interval' && family !== 'other';
}

/** The type of a list's values, and of a map's entries. */
export function elementType(type: DataType): DataType {
  return (type as ListLike).children[0]!.type;
}

/** The types of a map's keys and values. */
export function mapTypes(type: DataType): readonly [key: DataType, value: DataType] {
  const [key, value] = elementType(type).children;
  return [key!.type, value!.type];
}

/** The type of maps with keys and values of two types. */
export function mapTypeOf(key: DataType, value: DataType): DataType {
  const entries: MapEntries = new StructType([
    new Field('key', key, false),
    new Field('value', value, true),
  ]);
  return new Map_(new Field('entries', entries, false), false);
}

const unitNanoseconds: Readonly<Record<TimeUnit, bigint>> = {
  [TimeUnit.SECOND]: 1_000_000_000n,
  [TimeUnit.MILLISECOND]: 1_000_000n,
  [TimeUnit.MICROSECOND]: 1000n,
  [TimeUnit.NANOSECOND]: 1n,
};

/** The nanoseconds in one step of a date, time, timestamp or duration. */
export function stepOf(type: DataType): bigint {
  if (DataType.isDate(type)) return type.unit === DateUnit.DAY ? 86_400_000_000_000n : 1_000_000n;
  return unitNanoseconds[(type as Time | Timestamp | Duration).unit];
}

function unitName(type: DataType): string {
  return timeUnits[(type as Time | Timestamp | Duration).unit];
}

const names: Readonly<Record<Family, (type: DataType) => string>> = {
  null: () => 'null',
  boolean: () => 'bool',
  integer: (type) => integerName(integerOf(type)),
  float: (type) => floatNames[(type as DataType & { precision: Precision }).precision],
  decimal: (type) => `decimal(${(type as Decimal).precision}, ${(type as Decimal).scale})`,
  text: () => 'string',
  binary: () => 'binary',
  date: (type) => (stepOf(type) === 1_000_000n ? 'date64' : 'date'),
  time: (type) => `time(${unitName(type)})`,
  timestamp: (type) => {
    const zone = (type as Timestamp).timezone;
    return `timestamp(${unitName(type)}${zone ? `, ${zone}` : ''})`;
  },
  duration: (type) => `duration(${unitName(type)})`,
  interval: () => 'interval',
  list: (type) => `list<${sqlTypeName(elementType(type))}>`,
  struct: (type) =>
    `struct<${type.children.map((field) => `${field.name}: ${sqlTypeName(field.type)}`).join(', ')}>`,
  map: (type) => `map<${mapTypes(type).map(sqlTypeName).join(', ')}>`,
  other: (type) => Type[type.typeId].toLowerCase(),
};

/** The name of a type in messages and plans. A dictionary is named by its values. */
export function sqlTypeName(type: DataType): string {
  const plain = DataType.isDictionary(type) ? type.dictionary : type;
  return names[familyOf(plain)](plain);
}

/** Sign and width of an integer type. */
interface IntegerShape {
  readonly signed: boolean;
  /** In bits: 8, 16, 32 or 64. */
  readonly width: number;
}

/** The sign and width of an integer type. */
export function integerOf(type: DataType): IntegerShape {
  const { isSigned, bitWidth } = type as DataType & { isSigned: boolean; bitWidth: number };
  return { signed: isSigned, width: bitWidth };
}

const integerTypes: Readonly<Record<string, () => DataType>> = {
  int8: () => new Int8(),
  int16: () => new Int16(),
  int32: () => new Int32(),
  int64: () => new Int64(),
  uint8: () => new Uint8(),
  uint16: () => new Uint16(),
  uint32: () => new Uint32(),
  uint64: () => new Uint64(),
};

function integerName({ signed, width }: IntegerShape): string {
  return `${signed ? 'int' : 'uint'}${width}`;
}

export function integerType(shape: IntegerShape): DataType {
  return integerTypes[integerName(shape)]!();
}

/** The least and the greatest value of an integer type. */
export function integerRange({ signed, width }: IntegerShape): readonly [bigint, bigint] {
  const bits = BigInt(width);
  return signed ? [-(1n << (bits - 1n)), (1n << (bits - 1n)) - 1n] : [0n, (1n << bits) - 1n];
}

/**
 * The integer type that holds both. Of an unsigned and a signed 64-bit type it
 * is int64, whose results are checked: no wider integer exists.
 */
export function commonInteger(left: IntegerShape, right: IntegerShape): IntegerShape {
  if (left.signed === right.signed) return left.width >= right.width ? left : right;
  const [signed, unsigned] = left.signed ? [left, right] : [right, left];
  return { signed: true, width: Math.min(64, Math.max(signed.width, unsigned.width * 2)) };
}

/** A day-based date. */
export const dateType = new DateDay();
