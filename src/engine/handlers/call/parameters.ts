import { isDeepStrictEqual } from 'node:util';
import { CatalogError } from '../../../protocol/errors.ts';
import { isJsonObject, type JsonValue } from '../../../protocol/json.ts';
import { choiceOf } from '../../../protocol/mode.ts';
import type { OperationName } from '../../../protocol/operations/operation-name.ts';
import type { PageRequest } from '../../catalog/records/page.ts';
import type { Call } from './handler.ts';
import { integerField, textField, type Fields } from '../../base/fields.ts';
import { MAIN } from '../../format/chain.ts';
import { checkFormatProperty } from '../../versions/table-format.ts';
import { checkVersionProperties } from '../../versions/version-policy.ts';

/** The branch of a request, normalised for `main`; null if it names none. */
export function namedBranch(call: Omit<Call, 'once' | 'rules'>): string | null {
  const { operation, query } = call.request;
  const requested = query.get('branch')?.[0];
  // A body that is a map has no branch.
  const name = requested ?? (operation.body === 'map' ? null : branchOfBody(call));
  return name === '' ? MAIN : name;
}

/** The branch of a request; main by default. */
export function branchParameter(call: Call): string {
  return namedBranch(call) ?? MAIN;
}

function branchOfBody({ request, body }: Omit<Call, 'once' | 'rules'>): string | null {
  const inner = innerQuery(request.operation.name, body);
  return textField(body, 'branch') ?? (isJsonObject(inner) ? textField(inner, 'branch') : null);
}

/** Whether a request names a version by number or tag. */
export function namesVersion({ request, body }: Call): boolean {
  const requested = innerQuery(request.operation.name, body) ?? body;
  const said = isJsonObject(requested) ? [requested['version'], requested['tag']] : [];
  return said.some((value) => value !== undefined && value !== null);
}

/** Plan requests hold a query inside the body. */
function innerQuery(operation: OperationName, body: Call['body']): JsonValue | undefined {
  return operation === 'ExplainTableQueryPlan' ? body['query'] : undefined;
}

/**
 * Limit of a listing. Negative limits mean none, as in LanceDB and other servers; zero means no
 * entries.
 * @param most Upper bound and default.
 */
export function limitParameter(call: Call, most: number): number {
  const limit = requestedLimit(call);
  return limit === null || limit > BigInt(most) ? most : Number(limit);
}

/** Whether a listing is paginated. */
export function isPaginated(call: Call): boolean {
  return requestedLimit(call) !== null;
}

function requestedLimit({ body }: Call): bigint | null {
  const limit = integerField(body, 'limit');
  return limit === null || limit < 0n ? null : limit;
}

const LONE_SURROGATE = /\p{Surrogate}/u;

/** Requested page of a listing: the token is the last name of the previous page. */
export function pageParameters(call: Call, most: number): PageRequest {
  const after = textField(call.body, 'page_token') ?? '';
  if (LONE_SURROGATE.test(after)) {
    throw new CatalogError('InvalidInput', 'page_token is not valid Unicode');
  }
  return { limit: limitParameter(call, most), after };
}

/**
 * A mode or behaviour of the body in canonical spelling; the operation's default if absent.
 * @throws CatalogError InvalidInput for an unknown one.
 */
export function choiceField(call: Call, name: string): string {
  return choiceOf(call.request.operation, name, textField(call.body, name) ?? undefined);
}

/** Limit of properties in bytes: a listing reads the records of a whole page. */
const MAX_PROPERTIES_BYTES = 65_536;

/**
 * Properties of the body; empty if absent.
 * @throws CatalogError InvalidInput for more than 64 KiB.
 */
export function propertiesField(call: Call): Readonly<Record<string, string>> {
  return propertiesOf(call.body);
}

/** Properties of a body or a part of it. @throws as `propertiesField`. */
export function propertiesOf(fields: Fields): Readonly<Record<string, string>> {
  const entries = Object.entries(fields['properties'] ?? {}).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  return boundedProperties(Object.fromEntries(entries));
}

/**
 * Checks the size of properties, and those that have a meaning.
 * @throws CatalogError InvalidInput for more than 64 KiB, and for an unknown form.
 */
export function boundedProperties(
  properties: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const bytes = Object.entries(properties).reduce(
    (sum, entry) => sum + Buffer.byteLength(entry.join('')),
    0,
  );
  if (bytes > MAX_PROPERTIES_BYTES) {
    throw new CatalogError(
      'InvalidInput',
      `properties may have at most ${MAX_PROPERTIES_BYTES} bytes, not ${bytes}`,
    );
  }
  checkVersionProperties(properties);
  checkFormatProperty(properties);
  return properties;
}

/**
 * Warning of an answer to `exist_ok` if the object has other properties; undefined if none were
 * sent or they are equal.
 */
export function propertiesWarning(
  given: Readonly<Record<string, string>> | undefined,
  existing: Readonly<Record<string, string>>,
): { readonly warning?: string } {
  if (given === undefined || isDeepStrictEqual({ ...given }, { ...existing })) return {};
  return {
    warning: 'it exists already with the properties in this answer; those given are ignored',
  };
}

/**
 * The entry for the mode in the query, one per mode of the operation table.
 * @throws CatalogError InvalidInput for an unknown mode.
 */
export function byQueryMode<Value>(call: Call, values: Readonly<Record<string, Value>>): Value {
  const { operation, query } = call.request;
  const mode = choiceOf(operation, 'mode', query.get('mode')?.[0]);
  const value = values[mode];
  if (value !== undefined) return value;
  throw new CatalogError('Unsupported', `mode ${mode} of ${operation.name} is not built yet`);
}
