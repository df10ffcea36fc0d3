import { isDeepStrictEqual } from 'node:util';
import { CatalogError } from '../../../protocol/errors.ts';
import { isJsonObject, type JsonValue } from '../../../protocol/json.ts';
import { choiceOf } from '../../../protocol/mode.ts';
import type { OperationName } from '../../../protocol/operations/operation-name.ts';
import type { PageRequest } from '../../catalog/records/page.ts';
import type { Call } from './handler.ts';
import { integerField, textField, type Fields } from '../../base/fields.ts';
import { MAIN } from '../../format/chain.ts';

/** The branch that a request names, `main` by any of its names; null when it names none. */
export function namedBranch(call: Omit<Call, 'once' | 'rules'>): string | null {
  const { operation, query } = call.request;
  const asked = query.get('branch')?.[0];
  // A body that is a bare map says nothing of a branch, whatever its keys.
  const name = asked ?? (operation.body === 'map' ? null : branchOfBody(call));
  return name === '' ? MAIN : name;
}

/** The branch that a request is about. */
export function branchParameter(call: Call): string {
  return namedBranch(call) ?? MAIN;
}

function branchOfBody({ request, body }: Omit<Call, 'once' | 'rules'>): string | null {
  const inner = innerQuery(request.operation.name, body);
  return textField(body, 'branch') ?? (isJsonObject(inner) ? textField(inner, 'branch') : null);
}

/** Whether a request is about a version that it names, by its number or by a tag. */
export function namesVersion({ request, body }: Call): boolean {
  const asked = innerQuery(request.operation.name, body) ?? body;
  const said = isJsonObject(asked) ? [asked['version'], asked['tag']] : [];
  return said.some((value) => value !== undefined && value !== null);
}

/** A plan is asked of a query inside the body. */
function innerQuery(operation: OperationName, body: Call['body']): JsonValue | undefined {
  return operation === 'ExplainTableQueryPlan' ? body['query'] : undefined;
}

/**
 * How many entries a listing may answer. A limit below zero is none, as other
 * servers of the protocol and LanceDB itself have it; one of zero asks for nothing.
 * @param most The most that are ever answered, and what counts when nothing is asked.
 */
export function limitParameter(call: Call, most: number): number {
  const limit = requestedLimit(call);
  return limit === null || limit > BigInt(most) ? most : Number(limit);
}

/** Whether a listing is asked for in pages. */
export function isPaginated(call: Call): boolean {
  return requestedLimit(call) !== null;
}

function requestedLimit({ body }: Call): bigint | null {
  const limit = integerField(body, 'limit');
  return limit === null || limit < 0n ? null : limit;
}

const LONE_SURROGATE = /\p{Surrogate}/u;

/** Which page of a listing by name is asked for: the token is the last name of the page before. */
export function pageParameters(call: Call, most: number): PageRequest {
  const after = textField(call.body, 'page_token') ?? '';
  if (LONE_SURROGATE.test(after)) {
    throw new CatalogError('InvalidInput', 'page_token is not valid Unicode');
  }
  return { limit: limitParameter(call, most), after };
}

/**
 * A mode or behaviour of the body in its one spelling, the operation's default when it is absent.
 * @throws CatalogError InvalidInput for one that the operation does not know.
 */
export function choiceField(call: Call, name: string): string {
  return choiceOf(call.request.operation, name, textField(call.body, name) ?? undefined);
}

/** A listing reads the records of a whole page, so that each must be small. */
const MAX_PROPERTIES_BYTES = 65_536;

/**
 * The properties of the body: none when they are absent.
 * @throws CatalogError InvalidInput for more than 64 KiB of them.
 */
export function propertiesField(call: Call): Readonly<Record<string, string>> {
  return propertiesOf(call.body);
}

/** The properties of a body, or of a part of one; refused in the same way. */
export function propertiesOf(fields: Fields): Readonly<Record<string, string>> {
  const entries = Object.entries(fields['properties'] ?? {}).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  return boundedProperties(Object.fromEntries(entries));
}

/**
 * Properties that a record can hold.
 * @throws CatalogError InvalidInput for more than 64 KiB of them.
 */
export function boundedProperties(
  properties: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const bytes = Object.entries(properties).reduce(
    (sum, entry) => sum + Buffer.byteLength(entry.join('')),
    0,
  );
  if (bytes <= MAX_PROPERTIES_BYTES) return properties;
  throw new CatalogError(
    'InvalidInput',
    `properties may have at most ${MAX_PROPERTIES_BYTES} bytes, not ${bytes}`,
  );
}

/**
 * What an answer to `exist_ok` says where the object is there already with other properties; nothing
 * where none were given, or the same.
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
 * What belongs to the mode in the query: one entry for each mode that the
 * operation table lists.
 * @throws CatalogError InvalidInput for a mode that the operation does not know.
 */
export function byQueryMode<Value>(call: Call, values: Readonly<Record<string, Value>>): Value {
  const { operation, query } = call.request;
  const mode = choiceOf(operation, 'mode', query.get('mode')?.[0]);
  const value = values[mode];
  if (value !== undefined) return value;
  throw new CatalogError('Unsupported', `mode ${mode} of ${operation.name} is not built yet`);
}
