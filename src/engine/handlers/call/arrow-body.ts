import type { DataType, Field, Schema } from 'apache-arrow';
import { typeFromJson } from '../../../arrow/json-type.ts';
import { typeToJson } from '../../../arrow/json-schema.ts';
import { typeName } from '../../../arrow/types.ts';
import type { CatalogRequest } from '../../../protocol/backend.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import { stringifyJson } from '../../../protocol/json.ts';
import { asRefusal, openIncoming, type IncomingLimits } from '../../format/incoming.ts';

const ARROW_STREAM = 'application/vnd.apache.arrow.stream';
const ANY_BYTES = 'application/octet-stream';

/**
 * Refuses an Arrow body with another content type. Many clients send none.
 * @throws CatalogError InvalidInput.
 */
export function requireArrowType({ headers }: Pick<CatalogRequest, 'headers'>): void {
  const type = mediaType(headers);
  if (type === undefined || type === ARROW_STREAM || type === ANY_BYTES) return;
  throw new CatalogError(
    'InvalidInput',
    `the body must be an Arrow IPC stream: send it with the Content-Type ${ARROW_STREAM}, not ${type}`,
  );
}

/** Whether a request sends columns as the schema of an Arrow stream in place of JSON. */
export function sendsSchema({ operation, headers }: CatalogRequest): boolean {
  return operation.schemaBody === true && mediaType(headers) === ARROW_STREAM;
}

/**
 * The JSON body that is equivalent to a stream with a schema and no rows: columns of nulls.
 * @throws CatalogError InvalidInput for a stream with rows or beyond the limits, and for types that a column may not have.
 */
export async function schemaBody(request: CatalogRequest, limits: IncomingLimits): Promise<string> {
  const { schema, batches } = await openIncoming(request, limits);
  try {
    for await (const { numRows } of batches) {
      if (numRows === 0) continue;
      const why = 'the Arrow stream of new columns must have a schema and no rows';
      throw new CatalogError('InvalidInput', why);
    }
  } catch (error) {
    throw asRefusal(error);
  }
  return stringifyJson({ new_columns: columnsOf(schema) });
}

function columnsOf({ fields }: Schema): readonly object[] {
  return fields.map((field) => ({ name: field.name, all_null: true, data_type: typeOf(field) }));
}

function typeOf({ name, type, nullable }: Field): object {
  if (!nullable) {
    const why = `the new column ${JSON.stringify(name)} must be nullable: its values are null`;
    throw new CatalogError('TableSchemaValidationError', why);
  }
  const json = typeToJson(type, 'lance');
  if (isSame(type, typeFromJson(json))) return json;
  throw new CatalogError(
    'TableSchemaValidationError',
    `the new column ${JSON.stringify(name)} is of type ${typeName(type)}, which cannot be added`,
  );
}

function isSame(one: DataType, other: DataType): boolean {
  return typeName(one) === typeName(other);
}

/** The type of a body without its parameters, in lower case. */
function mediaType(headers: CatalogRequest['headers']): string | undefined {
  const value = [headers['content-type']].flat()[0];
  const type = value?.split(';', 1)[0]?.trim().toLowerCase();
  return type === '' ? undefined : type;
}
