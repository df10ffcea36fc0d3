import { createHash } from 'node:crypto';
import type { CatalogRequest } from '../../protocol/backend.ts';
import { canonicalPath } from '../../protocol/identifier.ts';
import { isJsonObject, stringifyJson, type JsonValue } from '../../protocol/json.ts';
import { nameOfRequest } from './past-request.ts';

/** SHA-256 of some text, in hexadecimal. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/**
 * What names a request that may be repeated: who asks for which operation on
 * which object, and the id that the client gave it.
 */
export function requestName(request: CatalogRequest, subject: string, id: string): string {
  const { operation, object } = request;
  return nameOfRequest({
    subject,
    operation: operation.name,
    object: canonicalPath(object),
    requestId: id,
  });
}

/**
 * What a request asks, except for an Arrow body: its route, its query, the headers
 * that the operation reads, and its JSON body whatever the order of its keys.
 * What only proves who asks may be another the second time.
 * @param bodyDigest Stands for a body that is too long to be put in order.
 */
export function askedDigest(
  request: CatalogRequest,
  body: Readonly<Record<string, JsonValue>>,
  bodyDigest?: string,
) {
  const { operation, target, indexName, query, headers, root = [] } = request;
  const { identity: _, ...asked } = body;
  const said = {
    // What a repeat is answered calls objects as the first request did.
    ...(root.length > 0 && { root: [...root] }),
    target: target ?? null,
    index: indexName ?? null,
    query: [...query]
      .filter(([name]) => name !== 'delimiter')
      .map(([name, values]) => [name, [...values]])
      .toSorted(([left], [right]) => (String(left) < String(right) ? -1 : 1)),
    headers: operation.headers.map((name) => String(headers[name] ?? '')),
    body: bodyDigest ?? (operation.body === 'map' ? body : asked),
  };
  return digestOf(stringifyJson(ordered(said as JsonValue)));
}

/** A value with the keys of all its objects in order. */
function ordered(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(ordered);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, ordered(inner)]));
}
