import type { CatalogRequest } from '../../../protocol/backend.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import { headerText } from '../../../protocol/context.ts';
import { parseJson } from '../../../protocol/json.ts';
import { boundedProperties } from '../call/parameters.ts';

/** Options of a new table beside its rows. */
export interface CreationOptions {
  readonly properties: Readonly<Record<string, string>> | undefined;
  readonly location: string | undefined;
}

const LOCATION_HEADERS = ['x-service-table-location', 'x-lance-table-location'] as const;
const PROPERTY_HEADERS = ['x-service-table-properties', 'x-lance-table-properties'] as const;

/**
 * Location and properties of CreateTable: headers in the user's spelling or the
 * older one, properties also as a query parameter. What is said twice must agree.
 * @throws CatalogError InvalidInput.
 */
export function creationOptions(request: CatalogRequest): CreationOptions {
  const header = (name: string) => singleHeader(request, name);
  const properties = [...PROPERTY_HEADERS.map(header), request.query.get('properties')?.[0]]
    .filter((text) => text !== undefined)
    .map((text) => boundedProperties(stringMap(text, 'properties')));
  const storage = request.query.get('storage_options')?.[0];
  if (storage !== undefined) stringMap(storage, 'storage_options');
  return {
    properties: agreed(properties, 'properties', (left, right) => sameMap(left, right)),
    location: agreed(LOCATION_HEADERS.map(header).filter(isText), 'location', Object.is),
  };
}

function singleHeader({ headers }: CatalogRequest, name: string): string | undefined {
  const value = headers[name];
  if (value === undefined) return undefined;
  return headerText(Array.isArray(value) ? value.join(', ') : value);
}

function isText(text: string | undefined): text is string {
  return text !== undefined;
}

function agreed<Value>(
  values: readonly Value[],
  what: string,
  same: (left: Value, right: Value) => boolean,
): Value | undefined {
  const [first, ...others] = values;
  if (first !== undefined && others.some((other) => !same(first, other))) {
    throw new CatalogError('InvalidInput', `the table's ${what} are given twice and differ`);
  }
  return first;
}

function stringMap(text: string, what: string): Readonly<Record<string, string>> {
  const value = parseJson(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new CatalogError('InvalidInput', `${what} must be a JSON object of strings`);
  }
  const entries = Object.entries(value).map(([key, entry]) => [key, asText(entry, key, what)]);
  return Object.fromEntries(entries);
}

function asText(value: unknown, key: string, what: string): string {
  if (typeof value === 'string') return value;
  throw new CatalogError('InvalidInput', `${what}.${key} must be a string`);
}

function sameMap(
  left: Readonly<Record<string, string>>,
  right: Readonly<Record<string, string>>,
): boolean {
  const keys = Object.keys(left);
  return keys.length === Object.keys(right).length && keys.every((key) => left[key] === right[key]);
}
