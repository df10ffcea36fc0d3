import {
  DataType,
  DateUnit,
  IntervalUnit,
  Precision,
  Timestamp,
  TimeUnit,
  Type,
  type Data,
  type Dictionary,
  type Field,
  type RecordBatch,
  type Schema,
  type Union,
} from 'apache-arrow';
import { batchOfData } from './data.ts';
import { ArrowError } from './arrow-error.ts';
import { isKnown } from './layout.ts';
import { childrenOf } from './nested-type.ts';
import { checkNullable, nullsOf, retype } from './nullability.ts';

/** Short names of the units of time. */
export const timeUnits = {
  [TimeUnit.SECOND]: 's',
  [TimeUnit.MILLISECOND]: 'ms',
  [TimeUnit.MICROSECOND]: 'us',
  [TimeUnit.NANOSECOND]: 'ns',
};

const intervalUnits = {
  [IntervalUnit.YEAR_MONTH]: 'year_month',
  [IntervalUnit.DAY_TIME]: 'day_time',
  [IntervalUnit.MONTH_DAY_NANO]: 'month_day_nano',
};

export const floatNames = {
  [Precision.HALF]: 'float16',
  [Precision.SINGLE]: 'float32',
  [Precision.DOUBLE]: 'float64',
};

/** Names of the types that have no settings. */
const plainNames: ReadonlyMap<Type, string> = new Map<Type, string>([
  [Type.Null, 'null'],
  [Type.Bool, 'bool'],
  [Type.Utf8, 'utf8'],
  [Type.LargeUtf8, 'large_utf8'],
  [Type.Utf8View, 'utf8_view'],
  [Type.Binary, 'binary'],
  [Type.LargeBinary, 'large_binary'],
  [Type.BinaryView, 'binary_view'],
]);

/** A readable name with every setting: `timestamp[us, UTC]`, `list<int32>`, `struct<a: utf8>`. */
export function typeName(type: DataType): string {
  return plainNames.get(type.typeId) ?? scalarName(type) ?? nestedName(type);
}

function scalarName(type: DataType): string | undefined {
  if (DataType.isInt(type)) return `${type.isSigned ? 'int' : 'uint'}${type.bitWidth}`;
  if (DataType.isFloat(type)) return floatNames[type.precision];
  if (DataType.isDecimal(type)) return `decimal${type.bitWidth}(${type.precision}, ${type.scale})`;
  if (DataType.isDate(type)) return type.unit === DateUnit.DAY ? 'date32' : 'date64';
  if (DataType.isTime(type)) return `time${type.bitWidth}[${timeUnits[type.unit]}]`;
  if (DataType.isDuration(type)) return `duration[${timeUnits[type.unit]}]`;
  if (DataType.isInterval(type)) return `interval[${intervalUnits[type.unit]}]`;
  if (DataType.isFixedSizeBinary(type)) return `fixed_size_binary[${type.byteWidth}]`;
  if (!DataType.isTimestamp(type)) return undefined;
  const zone = type.timezone ? `, ${type.timezone}` : '';
  return `timestamp[${timeUnits[type.unit]}${zone}]`;
}

const nestedNames: ReadonlyMap<Type, (type: DataType) => string> = new Map([
  [Type.List, (type: DataType) => `list<${childNames(type)}>`],
  [Type.LargeList, (type: DataType) => `large_list<${childNames(type)}>`],
  [
    Type.FixedSizeList,
    (type: DataType) => `fixed_size_list<${childNames(type)}>${settingsOf(type)}`,
  ],
  [Type.Struct, (type: DataType) => `struct<${namedChildren(type).join(', ')}>`],
  [Type.Map, (type: DataType) => `map<${childNames(childrenOf(type)[0]?.type ?? type)}>`],
  [Type.Union, unionName],
  [Type.Dictionary, dictionaryName],
]);

function nestedName(type: DataType): string {
  return nestedNames.get(type.typeId)?.(type) ?? Type[type.typeId];
}

function childNames(type: DataType): string {
  return childrenOf(type)
    .map((child) => typeName(child.type))
    .join(', ');
}

function namedChildren(type: DataType): string[] {
  return childrenOf(type).map((child) => `${child.name}: ${typeName(child.type)}`);
}

function unionName(type: DataType): string {
  const { typeIds } = type as Union;
  const members = namedChildren(type).map((name, index) => `${typeIds[index]}=${name}`);
  return `${DataType.isDenseUnion(type) ? 'dense' : 'sparse'}_union<${members.join(', ')}>`;
}

function dictionaryName(type: DataType): string {
  const { indices, dictionary } = type as Dictionary;
  return `dictionary<${typeName(indices)}, ${typeName(dictionary)}>`;
}

/** The settings of a nested type that are not its children's. */
function settingsOf(type: DataType): string {
  if (DataType.isFixedSizeList(type)) return `[${type.listSize}]`;
  if (DataType.isMap(type)) return String(type.keysSorted);
  if (DataType.isUnion(type)) return `${type.mode}:${type.typeIds.join()}`;
  return '';
}

/**
 * Whether values of both types lie alike and mean the same. What does not
 * change values is left aside: nullability, metadata and ids inside, and the
 * names of the fields of lists and maps.
 */
export function sameType(a: DataType, b: DataType): boolean {
  return alike(a, b, (left, right) => typeName(left) === typeName(right));
}

/**
 * Whether values of a type can stand as they are in a column of another. The
 * zone of a timestamp says how an instant is shown, not which one it is; a
 * client that has no name for the table's zone sends another.
 */
export function fits(type: DataType, column: DataType): boolean {
  return alike(type, column, (left, right) => typeName(inUtc(left)) === typeName(inUtc(right)));
}

function inUtc(type: DataType): DataType {
  return DataType.isTimestamp(type) && type.timezone ? new Timestamp(type.unit, 'UTC') : type;
}

/** Compares two types from the top down; types without children are compared by the given function. */
function alike(a: DataType, b: DataType, sameLeaf: (a: DataType, b: DataType) => boolean): boolean {
  if (a === b) return true;
  if (a.typeId !== b.typeId) return false;
  if (DataType.isDictionary(a) && DataType.isDictionary(b)) {
    const indices = alike(a.indices, b.indices, sameLeaf) && a.isOrdered === b.isOrdered;
    return indices && alike(a.dictionary, b.dictionary, sameLeaf);
  }
  const [left, right] = [comparedChildren(a), comparedChildren(b)];
  if (left.length === 0 && right.length === 0) return sameLeaf(a, b);
  const named = DataType.isStruct(a) || DataType.isUnion(a);
  const sameChild = (child: Field, index: number): boolean =>
    (!named || child.name === right[index]!.name) &&
    alike(child.type, right[index]!.type, sameLeaf);
  return settingsOf(a) === settingsOf(b) && left.length === right.length && left.every(sameChild);
}

/** The children of a type; of a map its key and value, as its entries are always alike. */
function comparedChildren(type: DataType): readonly Field[] {
  const children = childrenOf(type);
  return DataType.isMap(type) ? childrenOf(children[0]!.type) : children;
}

/**
 * Refuses unsupported schemas: types that the layouts here do not cover,
 * dictionaries with 64-bit indices, two columns of one name at the top or
 * inside one struct. Throws `unsupported`, naming the column.
 */
export function checkSupported(schema: Schema): void {
  checkNames(schema.fields, undefined);
  for (const field of schema.fields) checkType(field.type, field.name);
}

function checkType(type: DataType, name: string): void {
  if (!isKnown(type)) {
    const found = `the type ${Type[type.typeId]}`;
    throw new ArrowError('unsupported', `Column "${name}" has ${found}, which is not supported.`);
  }
  if (DataType.isDictionary(type)) {
    if (type.indices.bitWidth > 32) {
      const found = 'the type a dictionary with 64-bit indices';
      throw new ArrowError('unsupported', `Column "${name}" has ${found}, which is not supported.`);
    }
    checkType(type.dictionary, name);
  }
  if (DataType.isStruct(type)) checkNames(childrenOf(type), name);
  for (const child of childrenOf(type)) checkType(child.type, `${name}.${child.name}`);
}

function checkNames(fields: readonly Field[], parent: string | undefined): void {
  const seen = new Set<string>();
  for (const { name } of fields) {
    if (seen.has(name)) {
      const place = parent === undefined ? 'The schema' : `Column "${parent}"`;
      throw new ArrowError('unsupported', `${place} has two fields of the name "${name}".`);
    }
    seen.add(name);
  }
}

/**
 * The batch under another schema: columns are matched by name and put in the
 * schema's order, a nullable column that the batch lacks is all null, a
 * timestamp may have another zone than the schema says. Throws
 * `mismatch`, naming the column, if a type differs, a column is missing or
 * unknown, or nulls stand where the schema allows none.
 */
export function conform(batch: RecordBatch, schema: Schema): RecordBatch {
  if (batch.schema === schema) return batch;
  const columns = new Map(
    batch.schema.fields.map((field, index) => [field.name, batch.data.children[index]!]),
  );
  const names = new Set(schema.fields.map((field) => field.name));
  for (const { name } of batch.schema.fields) {
    if (!names.has(name)) throw new ArrowError('mismatch', `The table has no column "${name}".`);
  }
  const children = schema.fields.map((field) =>
    conformColumn(field, columns.get(field.name), batch.numRows),
  );
  return batchOfData(schema, children, batch.numRows);
}

function conformColumn(field: Field, data: Data | undefined, rows: number): Data {
  if (data === undefined) {
    if (field.nullable) return nullsOf(field.type, rows);
    throw new ArrowError('mismatch', `Column "${field.name}" is missing and may not be null.`);
  }
  if (!fits(data.type, field.type)) {
    const types = `${typeName(data.type)}, the table has ${typeName(field.type)}`;
    throw new ArrowError('mismatch', `Column "${field.name}" has the type ${types}.`);
  }
  checkNullable(field, data, field.name);
  return retype(data, field.type);
}
