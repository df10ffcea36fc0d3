import type { DataType } from 'apache-arrow';
import { ArrowError } from '../../../arrow/arrow-error.ts';
import type { JsonField, JsonType } from '../../../arrow/json-schema.ts';
import { typeFromJson } from '../../../arrow/json-type.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import { isJsonObject, type JsonValue } from '../../../protocol/json.ts';
import { checkModel } from '../../../protocol/models/models.ts';
import { flagField, textField, type Fields } from '../../base/fields.ts';
import { checkFieldName } from '../../format/incoming.ts';

/** Type names of the namespace vocabulary only, with LanceDB's names (wire contract, section 7). */
const namespaceNames: Readonly<Record<string, string>> = {
  float16: 'halffloat',
  float32: 'float',
  float64: 'double',
  utf8: 'string',
  large_utf8: 'large_string',
  date32: 'date32:day',
  date64: 'date64:ms',
  time32: 'time32:ms',
  time64: 'time64:us',
  timestamp: 'timestamp:us:-',
  duration: 'duration:us',
};

/**
 * A type in a request: its name, or an object, in either client's vocabulary.
 * A name without a unit means microseconds, of 32-bit times milliseconds.
 * @param where The field of the request, for refusals.
 * @throws CatalogError InvalidInput for something that is no type,
 * TableSchemaValidationError for one that is not known.
 */
export function typeField(value: JsonValue, where: string): DataType {
  const json = typeof value === 'string' ? { type: value } : value;
  if (!isJsonObject(json)) {
    throw new CatalogError('InvalidInput', `${where} must be the name of a type or an object`);
  }
  checkModel('JsonArrowDataType', json);
  try {
    return typeFromJson(typeOf(json));
  } catch (error) {
    if (!(error instanceof ArrowError)) throw error;
    throw new CatalogError('TableSchemaValidationError', `${where}: ${error.message}`);
  }
}

type JsonObject = Readonly<Record<string, JsonValue>>;

/** The type that a checked object describes, in LanceDB's vocabulary. */
function typeOf(json: JsonObject): JsonType {
  const { fields, length } = json;
  const size = length === undefined || length === null ? undefined : Number(length);
  return {
    type: nameOf(textOf(json['type']), size),
    ...(Array.isArray(fields) && { fields: fields.filter(isJsonObject).map(fieldOf) }),
    ...(size !== undefined && { length: size }),
  };
}

function fieldOf(json: JsonObject): JsonField {
  const { type, metadata } = json;
  const texts = Object.entries(isJsonObject(metadata) ? metadata : {});
  return {
    name: textOf(json['name']),
    type: typeOf(isJsonObject(type) ? type : {}),
    nullable: json['nullable'] !== false,
    metadata: Object.fromEntries(texts.map(([key, value]) => [key, textOf(value)])),
  };
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

function nameOf(type: string, length: number | undefined): string {
  const decimal = /^decimal(32|64|128|256)$/.exec(type);
  if (decimal !== null && length !== undefined) {
    const bits = decimal[1] === '256' ? 256 : 128;
    return `decimal:${bits}:${Math.floor(length / 1000)}:${length % 1000}`;
  }
  return (Object.hasOwn(namespaceNames, type) ? namespaceNames[type] : undefined) ?? type;
}

/** A change of one column or field; null members leave a property unchanged. */
export interface Alteration {
  readonly path: string;
  readonly rename: string | null;
  readonly nullable: boolean | null;
  readonly type: DataType | null;
}

/**
 * The field `alterations` (wire contract, section 5.2).
 * @throws CatalogError InvalidInput for an entry that changes nothing,
 * TableSchemaValidationError for a name or a type that a column cannot have,
 * Unsupported for code that this service does not run.
 */
export function alterationsField(body: Fields): readonly Alteration[] {
  const value = body['alterations'];
  const entries = Array.isArray(value) ? value.filter(isJsonObject) : [];
  if (entries.length === 0) {
    throw new CatalogError('InvalidInput', 'alterations must have at least one entry');
  }
  return entries.map(alteration);
}

function alteration(entry: Fields): Alteration {
  const path = textField(entry, 'path') ?? '';
  refuseVirtual(entry, path);
  const rename = textField(entry, 'rename');
  if (rename !== null) checkFieldName(rename);
  const nullable = entry['nullable'] === undefined ? null : nullableOf(entry);
  const type = entry['data_type'] ?? null;
  if (rename === null && nullable === null && type === null) {
    throw new CatalogError(
      'InvalidInput',
      `the alteration of ${JSON.stringify(path)} changes nothing: it has no rename, nullable or data_type`,
    );
  }
  const where = `alterations.${path}.data_type`;
  return { path, rename, nullable, type: type === null ? null : typeField(type, where) };
}

function nullableOf(entry: Fields): boolean | null {
  return entry['nullable'] === null ? null : flagField(entry, 'nullable', true);
}

function refuseVirtual(entry: Fields, path: string): void {
  if ((entry['virtual_column'] ?? null) === null) return;
  throw new CatalogError(
    'Unsupported',
    `the column ${JSON.stringify(path)} cannot be virtual: this service cannot run the code that computes it`,
  );
}
