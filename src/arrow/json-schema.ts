import {
  DataType,
  DateUnit,
  type Field,
  Precision,
  type Schema,
  TimeUnit,
  Type,
} from 'apache-arrow';
import { childrenOf } from './nested-type.ts';

/** A type in JSON (wire contract, section 7). */
export interface JsonType {
  readonly type: string;
  readonly fields?: readonly JsonField[];
  readonly length?: number;
}

export interface JsonField {
  readonly name: string;
  readonly type: JsonType;
  readonly nullable: boolean;
  readonly metadata?: Readonly<Record<string, string>>;
}

export interface JsonSchema {
  readonly fields: readonly JsonField[];
  readonly metadata?: Readonly<Record<string, string>>;
}

/** `lance` is what LanceDB's remote client reads, `namespace` what the namespace clients read. */
export type Vocabulary = 'lance' | 'namespace';

/**
 * A schema in JSON. A type that the vocabulary has no name for is described by
 * the nearest one that it has, never left out:
 *
 * | type | `lance` | `namespace` |
 * |---|---|---|
 * | map | list of struct of key and value | as it is |
 * | union | struct of nullable members | as it is |
 * | interval | `fixed_size_binary` of its width | the same |
 * | timestamp with an offset as its zone | zone `UTC` | no zone at all |
 * | text or binary view | `string` or `binary` | `utf8` or `binary` |
 * | 32- and 64-bit decimal | 128-bit decimal | as it is |
 * | dictionary | as it is; of values that its name cannot hold: their type | type of its values |
 */
export function schemaToJson(schema: Schema, vocabulary: Vocabulary): JsonSchema {
  const fields = schema.fields.map((field) => fieldToJson(field, vocabulary));
  return { fields, ...metadataToJson(schema.metadata) };
}

function fieldToJson(field: Field, vocabulary: Vocabulary): JsonField {
  const { name, nullable } = field;
  const type = typeToJson(field.type, vocabulary);
  return { name, type, nullable, ...metadataToJson(field.metadata) };
}

function metadataToJson(metadata: ReadonlyMap<string, string>): {
  metadata?: Readonly<Record<string, string>>;
} {
  return metadata.size === 0 ? {} : { metadata: Object.fromEntries(metadata) };
}

/** A type in JSON, degraded as `schemaToJson` describes. */
export function typeToJson(type: DataType, vocabulary: Vocabulary): JsonType {
  if (DataType.isDictionary(type)) return dictionaryToJson(type, vocabulary);
  if (DataType.isInterval(type))
    return { type: 'fixed_size_binary', length: [4, 8, 16][type.unit]! };
  if (DataType.isFixedSizeBinary(type))
    return { type: 'fixed_size_binary', length: type.byteWidth };
  const scalar = vocabulary === 'lance' ? lanceScalar(type) : namespaceScalar(type);
  return scalar ?? nestedToJson(type, vocabulary);
}

const nestedNames: ReadonlyMap<Type, string> = new Map<Type, string>([
  [Type.List, 'list'],
  [Type.LargeList, 'large_list'],
  [Type.FixedSizeList, 'fixed_size_list'],
  [Type.Struct, 'struct'],
  [Type.Map, 'map'],
  [Type.Union, 'union'],
]);

const lanceNestedNames: ReadonlyMap<Type, string> = new Map([
  [Type.Map, 'list'],
  [Type.Union, 'struct'],
]);

function nestedToJson(type: DataType, vocabulary: Vocabulary): JsonType {
  const lance = vocabulary === 'lance' ? lanceNestedNames.get(type.typeId) : undefined;
  const name = lance ?? nestedNames.get(type.typeId) ?? 'null';
  const loose = lance === 'struct';
  const fields = childrenOf(type).map((child) => {
    const json = fieldToJson(child, vocabulary);
    return loose ? { ...json, nullable: true } : json;
  });
  return DataType.isFixedSizeList(type)
    ? { type: name, fields, length: type.listSize }
    : { type: name, fields };
}

function dictionaryToJson(type: DataType, vocabulary: Vocabulary): JsonType {
  if (!DataType.isDictionary(type)) return { type: 'null' };
  const values: DataType = type.dictionary;
  const json = typeToJson(values, vocabulary);
  const nameless =
    json.type.includes(':') || json.fields !== undefined || json.length !== undefined;
  if (vocabulary === 'namespace' || nameless) return json;
  const indices = typeToJson(type.indices, vocabulary);
  return { type: `dict:${json.type}:${indices.type}:false` };
}

const units = {
  [TimeUnit.SECOND]: 's',
  [TimeUnit.MILLISECOND]: 'ms',
  [TimeUnit.MICROSECOND]: 'us',
  [TimeUnit.NANOSECOND]: 'ns',
};

const lanceNames: ReadonlyMap<Type, string> = new Map<Type, string>([
  [Type.Null, 'null'],
  [Type.Bool, 'bool'],
  [Type.Utf8, 'string'],
  [Type.LargeUtf8, 'large_string'],
  [Type.Utf8View, 'string'],
  [Type.Binary, 'binary'],
  [Type.LargeBinary, 'large_binary'],
  [Type.BinaryView, 'binary'],
]);

const lanceFloats = {
  [Precision.HALF]: 'halffloat',
  [Precision.SINGLE]: 'float',
  [Precision.DOUBLE]: 'double',
};

function lanceScalar(type: DataType): JsonType | undefined {
  const name = lanceNames.get(type.typeId) ?? lanceName(type);
  return name === undefined ? undefined : { type: name };
}

function lanceName(type: DataType): string | undefined {
  if (DataType.isInt(type)) return intName(type.isSigned, type.bitWidth);
  if (DataType.isFloat(type)) return lanceFloats[type.precision];
  if (DataType.isDate(type)) return type.unit === DateUnit.DAY ? 'date32:day' : 'date64:ms';
  if (DataType.isTime(type)) return `time${type.bitWidth}:${units[type.unit]}`;
  if (DataType.isDuration(type)) return `duration:${units[type.unit]}`;
  if (DataType.isTimestamp(type))
    return `timestamp:${units[type.unit]}:${lanceZone(type.timezone)}`;
  if (!DataType.isDecimal(type)) return undefined;
  return `decimal:${type.bitWidth === 256 ? 256 : 128}:${type.precision}:${type.scale}`;
}

/** `-` means no zone; the name is split at colons, so it cannot contain an offset. */
function lanceZone(zone: string | null | undefined): string {
  if (zone === null || zone === undefined || zone === '') return '-';
  return zone.includes(':') ? 'UTC' : zone;
}

function intName(isSigned: boolean, bits: number): string {
  return `${isSigned ? 'int' : 'uint'}${bits}`;
}

const namespaceNames: ReadonlyMap<Type, string> = new Map<Type, string>([
  [Type.Null, 'null'],
  [Type.Bool, 'bool'],
  [Type.Utf8, 'utf8'],
  [Type.LargeUtf8, 'large_utf8'],
  [Type.Utf8View, 'utf8'],
  [Type.Binary, 'binary'],
  [Type.LargeBinary, 'large_binary'],
  [Type.BinaryView, 'binary'],
  [Type.Timestamp, 'timestamp'],
  [Type.Duration, 'duration'],
]);

const namespaceFloats = {
  [Precision.HALF]: 'float16',
  [Precision.SINGLE]: 'float32',
  [Precision.DOUBLE]: 'float64',
};

function namespaceScalar(type: DataType): JsonType | undefined {
  if (DataType.isDecimal(type)) {
    return { type: `decimal${type.bitWidth}`, length: type.precision * 1000 + type.scale };
  }
  const name = namespaceNames.get(type.typeId) ?? namespaceName(type);
  return name === undefined ? undefined : { type: name };
}

function namespaceName(type: DataType): string | undefined {
  if (DataType.isInt(type)) return intName(type.isSigned, type.bitWidth);
  if (DataType.isFloat(type)) return namespaceFloats[type.precision];
  if (DataType.isDate(type)) return type.unit === DateUnit.DAY ? 'date32' : 'date64';
  if (DataType.isTime(type)) return `time${type.bitWidth}`;
  return undefined;
}
