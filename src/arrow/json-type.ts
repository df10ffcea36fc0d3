import {
  Binary,
  Bool,
  type DataType,
  Date_,
  DateUnit,
  Decimal,
  Dictionary,
  Duration,
  Field,
  FixedSizeBinary,
  FixedSizeList,
  Float,
  Int,
  LargeBinary,
  LargeList,
  LargeUtf8,
  List,
  Null,
  Precision,
  Struct,
  Time,
  Timestamp,
  TimeUnit,
  Utf8,
} from 'apache-arrow';
import { ArrowError } from './errors.ts';
import type { JsonField, JsonType } from './json-schema.ts';

const units: Readonly<Record<string, TimeUnit>> = {
  s: TimeUnit.SECOND,
  ms: TimeUnit.MILLISECOND,
  us: TimeUnit.MICROSECOND,
  ns: TimeUnit.NANOSECOND,
};

const plain: Readonly<Record<string, () => DataType>> = {
  null: () => new Null(),
  bool: () => new Bool(),
  int8: () => new Int(true, 8),
  int16: () => new Int(true, 16),
  int32: () => new Int(true, 32),
  int64: () => new Int(true, 64),
  uint8: () => new Int(false, 8),
  uint16: () => new Int(false, 16),
  uint32: () => new Int(false, 32),
  uint64: () => new Int(false, 64),
  halffloat: () => new Float(Precision.HALF),
  float: () => new Float(Precision.SINGLE),
  double: () => new Float(Precision.DOUBLE),
  string: () => new Utf8(),
  large_string: () => new LargeUtf8(),
  binary: () => new Binary(),
  large_binary: () => new LargeBinary(),
  'date32:day': () => new Date_(DateUnit.DAY),
  'date64:ms': () => new Date_(DateUnit.MILLISECOND),
  'time32:s': () => new Time(TimeUnit.SECOND, 32),
  'time32:ms': () => new Time(TimeUnit.MILLISECOND, 32),
  'time64:us': () => new Time(TimeUnit.MICROSECOND, 64),
  'time64:ns': () => new Time(TimeUnit.NANOSECOND, 64),
};

/** Types whose settings stand after colons. */
const parted: Readonly<Record<string, (parts: readonly string[]) => DataType | undefined>> = {
  timestamp: ([unit, zone, ...more]) => {
    const known = units[unit ?? ''];
    if (known === undefined || zone === undefined || more.length > 0) return undefined;
    return new Timestamp(known, zone === '-' ? null : zone);
  },
  duration: ([unit, ...more]) => {
    const known = units[unit ?? ''];
    return known === undefined || more.length > 0 ? undefined : new Duration(known);
  },
  decimal: ([bits, precision, scale, ...more]) => {
    const [width, digits, shift] = [bits, precision, scale].map(Number);
    const most = { 128: 38, 256: 76 }[width ?? 0] ?? 0;
    const sane = Number.isInteger(digits) && Number.isInteger(shift) && more.length === 0;
    return sane && digits! >= 1 && digits! <= most
      ? new Decimal(shift!, digits!, width)
      : undefined;
  },
  dict: ([values, indices, ordered, ...more]) => {
    const [value, index] = [plain[values ?? ''], plain[indices ?? '']?.()];
    const sane = index instanceof Int && index.bitWidth < 64 && more.length === 0;
    if (!sane || value === undefined || ordered === undefined) return undefined;
    return new Dictionary(value(), index as Dictionary['indices'], null, ordered === 'true');
  },
};

const nested: Readonly<Record<string, (type: JsonType) => DataType | undefined>> = {
  list: (type) => withItem(type, (item) => new List(item)),
  large_list: (type) => withItem(type, (item) => new LargeList(item)),
  fixed_size_list: (type) => withItem(type, (item) => new FixedSizeList(lengthOf(type), item)),
  fixed_size_binary: (type) => new FixedSizeBinary(lengthOf(type)),
  struct: (type) => new Struct((type.fields ?? []).map(fieldFromJson)),
};

/**
 * The type that LanceDB's vocabulary names (wire contract, section 7.1).
 * Throws `unsupported` for a name that it does not have.
 */
export function typeFromJson(json: JsonType): DataType {
  const [name = '', ...parts] = json.type.split(':');
  const type =
    own(plain, json.type)?.() ?? own(nested, json.type)?.(json) ?? own(parted, name)?.(parts);
  if (type === undefined) {
    throw new ArrowError('unsupported', `The type "${json.type}" is not known.`);
  }
  return type;
}

/** The field that LanceDB's vocabulary describes. Throws `unsupported` like `typeFromJson`. */
function fieldFromJson(json: JsonField): Field {
  const metadata = new Map(Object.entries(json.metadata ?? {}));
  return new Field(json.name, typeFromJson(json.type), json.nullable, metadata);
}

function own<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

function withItem(type: JsonType, make: (item: Field) => DataType): DataType | undefined {
  const [item, ...more] = type.fields ?? [];
  return item === undefined || more.length > 0 ? undefined : make(fieldFromJson(item));
}

function lengthOf(type: JsonType): number {
  const { length = -1 } = type;
  if (Number.isInteger(length) && length >= 0 && length < 2 ** 31) return length;
  throw new ArrowError('unsupported', `The type "${type.type}" needs a length.`);
}
