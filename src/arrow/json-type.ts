import {
  Binary,
  Bool,
  DataType,
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
  Map_,
  Null,
  Precision,
  Schema,
  Struct,
  Time,
  Timestamp,
  TimeUnit,
  Utf8,
} from 'apache-arrow';
import { ArrowError } from './arrow-error.ts';
import {
  schemaToJson,
  typeToJson,
  type JsonField,
  type JsonSchema,
  type JsonType,
  type Vocabulary,
} from './json-schema.ts';

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

/** Names that only the namespace vocabulary has. Where it names no unit, its clients read microseconds, of a short time milliseconds. */
const namespacePlain: Readonly<Record<string, () => DataType>> = {
  float16: () => new Float(Precision.HALF),
  float32: () => new Float(Precision.SINGLE),
  float64: () => new Float(Precision.DOUBLE),
  utf8: () => new Utf8(),
  large_utf8: () => new LargeUtf8(),
  date32: () => new Date_(DateUnit.DAY),
  date64: () => new Date_(DateUnit.MILLISECOND),
  time32: () => new Time(TimeUnit.MILLISECOND, 32),
  time64: () => new Time(TimeUnit.MICROSECOND, 64),
  timestamp: () => new Timestamp(TimeUnit.MICROSECOND, null),
  duration: () => new Duration(TimeUnit.MICROSECOND),
};

/** Types with settings after colons. */
const parted: Readonly<Record<string, (parts: readonly string[]) => DataType | undefined>> = {
  timestamp: ([unit, zone, ...more]) => {
    const parsedUnit = units[unit ?? ''];
    if (parsedUnit === undefined || zone === undefined || more.length > 0) return undefined;
    return new Timestamp(parsedUnit, zone === '-' ? null : zone);
  },
  duration: ([unit, ...more]) => {
    const parsedUnit = units[unit ?? ''];
    return parsedUnit === undefined || more.length > 0 ? undefined : new Duration(parsedUnit);
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

type FieldReader = (json: JsonField) => Field;
type NestedReader = (type: JsonType, read: FieldReader) => DataType | undefined;

const nested: Readonly<Record<string, NestedReader>> = {
  list: (type, read) => withItem(type, read, (item) => new List(item)),
  large_list: (type, read) => withItem(type, read, (item) => new LargeList(item)),
  fixed_size_list: (type, read) =>
    withItem(type, read, (item) => new FixedSizeList(lengthOf(type), item)),
  fixed_size_binary: (type) => new FixedSizeBinary(lengthOf(type)),
  struct: (type, read) => new Struct((type.fields ?? []).map((field) => read(field))),
};

/** Types that only the namespace vocabulary has. A union is read as a struct of nullable members. */
const namespaceNested: Readonly<Record<string, NestedReader>> = {
  map: (type, read) => withItem(type, read, mapOf),
  union: ({ fields }, read) =>
    new Struct((fields ?? []).map((field) => read({ ...field, nullable: true }))),
  decimal32: decimalOf,
  decimal64: decimalOf,
  decimal128: decimalOf,
  decimal256: decimalOf,
};

/**
 * The type that LanceDB's vocabulary names (wire contract, section 7.1).
 * Throws `unsupported` for a name that it does not have.
 */
export function typeFromJson(json: JsonType): DataType {
  const [name = '', ...parts] = json.type.split(':');
  const type =
    own(plain, json.type)?.() ??
    own(nested, json.type)?.(json, fieldFromJson) ??
    own(parted, name)?.(parts);
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

/**
 * A JSON schema in the given vocabulary, read from either one; undefined for a value that is
 * no schema. A type that neither vocabulary names becomes `null`, so that one such column
 * does not hide the others.
 */
export function schemaInVocabulary(json: unknown, vocabulary: Vocabulary): JsonSchema | undefined {
  if (!isSchema(json)) return undefined;
  const metadata = new Map(Object.entries(json.metadata ?? {}));
  return schemaToJson(new Schema(json.fields.map(fieldFromEither), metadata), vocabulary);
}

/** A JSON type in the given vocabulary, read from either one; undefined for a value that is no type. */
export function typeInVocabulary(json: unknown, vocabulary: Vocabulary): JsonType | undefined {
  return isType(json) ? typeToJson(typeFromEither(json), vocabulary) : undefined;
}

function isSchema(json: unknown): json is JsonSchema {
  return isRecord(json) && areFields(json['fields']) && isTextMap(json['metadata']);
}

function areFields(json: unknown): json is readonly JsonField[] {
  return Array.isArray(json) && json.every(isField);
}

function isField(json: unknown): json is JsonField {
  return (
    isRecord(json) &&
    typeof json['name'] === 'string' &&
    isType(json['type']) &&
    isTextMap(json['metadata'])
  );
}

function isType(json: unknown): json is JsonType {
  if (!isRecord(json) || typeof json['type'] !== 'string') return false;
  const { fields = null, length = null } = json;
  return (fields === null || areFields(fields)) && (length === null || typeof length === 'number');
}

function isTextMap(json: unknown): boolean {
  if (json === undefined || json === null) return true;
  return isRecord(json) && Object.values(json).every((value) => typeof value === 'string');
}

function isRecord(json: unknown): json is Readonly<Record<string, unknown>> {
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}

/** Some servers omit `nullable`, which means true. */
function fieldFromEither(json: JsonField): Field {
  const metadata = new Map(Object.entries(json.metadata ?? {}));
  return new Field(json.name, typeFromEither(json.type), json.nullable ?? true, metadata);
}

function typeFromEither(json: JsonType): DataType {
  try {
    const reader = own(nested, json.type) ?? own(namespaceNested, json.type);
    return (
      own(namespacePlain, json.type)?.() ?? reader?.(json, fieldFromEither) ?? typeFromJson(json)
    );
  } catch (error) {
    if (error instanceof ArrowError) return new Null();
    throw error;
  }
}

function own<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

function withItem(
  type: JsonType,
  read: FieldReader,
  make: (item: Field) => DataType | undefined,
): DataType | undefined {
  const [item, ...more] = type.fields ?? [];
  return item === undefined || more.length > 0 ? undefined : make(read(item));
}

/** A map is a list of entries; of anything else than a struct of key and value it is none. */
function mapOf(entries: Field): DataType | undefined {
  const { type } = entries;
  if (!DataType.isStruct(type) || type.children.length !== 2) return undefined;
  return new Map_(new Field(entries.name, type, false));
}

/** The length of a decimal is its precision times 1000 and its scale. */
function decimalOf({ type, length }: JsonType): DataType | undefined {
  if (typeof length !== 'number') return undefined;
  const [precision, scale] = [Math.floor(length / 1000), length % 1000];
  const bits = type === 'decimal256' ? 256 : 128;
  const sane = Number.isInteger(length) && precision >= 1 && precision <= (bits === 256 ? 76 : 38);
  return sane ? new Decimal(scale, precision, bits) : undefined;
}

function lengthOf(type: JsonType): number {
  const { length = -1 } = type;
  if (Number.isInteger(length) && length >= 0 && length < 2 ** 31) return length;
  throw new ArrowError('unsupported', `The type "${type.type}" needs a length.`);
}
