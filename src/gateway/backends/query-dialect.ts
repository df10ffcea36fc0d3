import { CatalogError } from '../../protocol/errors.ts';
import { isJsonObject, type JsonValue } from '../../protocol/json.ts';

/** Members of a JSON body. */
export type JsonFields = Readonly<Record<string, JsonValue>>;

/** Members of a body that is sent, or of an answer. */
export type Rendered = Readonly<Record<string, unknown>>;

/** The largest `k` of the namespace specification: a 32-bit integer. */
const MOST_ROWS = 2 ** 31 - 1;

/**
 * A query of LanceDB's dialect in that of the namespace specification.
 * @throws CatalogError Unsupported for an order, which the specification cannot say
 */
export function inNamespace(query: JsonFields): Rendered {
  const { vector, columns, full_text_query: search, k, order_by: order, ...others } = query;
  if (Array.isArray(order) && order.length > 0) {
    throw new CatalogError(
      'Unsupported',
      'order_by has no form in the namespace dialect, which is all that the backend understands',
    );
  }
  return withoutNulls({
    ...others,
    k: isBelow(k, MOST_ROWS) ? k : MOST_ROWS,
    vector: namespaceVector(vector),
    columns: namespaceColumns(columns),
    full_text_query: namespaceSearch(search),
  });
}

/** A query of the namespace specification in LanceDB's dialect. */
export function inLanceDb(query: JsonFields): Rendered {
  const { vector, columns, full_text_query: search, ...others } = query;
  return withoutNulls({
    ...others,
    vector: oneOf(vector, ['single_vector', 'multi_vector']) ?? [],
    columns: oneOf(columns, ['column_names', 'column_aliases']),
    full_text_query: oneOf(search, ['string_query', 'structured_query']),
  });
}

function isBelow(value: JsonValue | undefined, most: number): boolean {
  return (typeof value === 'number' || typeof value === 'bigint') && value < most;
}

/** The specification requires a vector; an empty one searches for nothing. */
function namespaceVector(vector: JsonValue | undefined): JsonValue {
  if (isJsonObject(vector)) return vector;
  if (!Array.isArray(vector)) return { single_vector: [] };
  return Array.isArray(vector[0]) ? { multi_vector: vector } : { single_vector: vector };
}

function namespaceColumns(columns: JsonValue | undefined): JsonValue | undefined {
  if (Array.isArray(columns)) return { column_names: columns };
  if (!isJsonObject(columns) || oneOf(columns, ['column_names', 'column_aliases']) !== columns)
    return columns;
  return { column_aliases: columns };
}

function namespaceSearch(search: JsonValue | undefined): JsonValue | undefined {
  if (!isJsonObject(search)) return search;
  const { query, columns } = search;
  if (isJsonObject(query)) return { structured_query: { query } };
  if (typeof query !== 'string') return search;
  const named = Array.isArray(columns) && columns.length > 0;
  return { string_query: named ? { query, columns } : { query } };
}

/** The first of these members that an object has; the value itself if it has none of them. */
function oneOf(value: JsonValue | undefined, names: readonly string[]): JsonValue | undefined {
  if (!isJsonObject(value)) return value;
  const name = names.find((each) => value[each] !== undefined && value[each] !== null);
  if (name !== undefined) return value[name];
  return Object.keys(value).length === 0 ? undefined : value;
}

function withoutNulls(fields: Rendered): Rendered {
  const entries = Object.entries(fields);
  return Object.fromEntries(entries.filter(([, value]) => value !== null && value !== undefined));
}
