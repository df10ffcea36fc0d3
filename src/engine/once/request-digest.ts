import { createHash } from 'node:crypto';
import type { CatalogRequest } from '../../protocol/backend.ts';
import { canonicalPath } from '../../protocol/identifier.ts';
import { isJsonObject, stringifyJson, type JsonValue } from '../../protocol/json.ts';
import type { Restrictions } from '../../protocol/restrictions.ts';
import type { Store } from '../../store/store.ts';
import { answerKey } from '../catalog/records/keys.ts';

/** The bytes of a body as far as they were read. */
export interface BodyDigest {
  /** SHA-256 in hexadecimal. */
  readonly sha256: string;
  readonly bytes: number;
}

/** A body that is passed on as it comes, with a digest of what passed. */
export class HashedBody implements AsyncIterable<Uint8Array> {
  readonly #source: AsyncIterable<Uint8Array>;
  readonly #hash = createHash('sha256');
  #bytes = 0;
  #state: 'untouched' | 'begun' | 'ended' = 'untouched';
  #digest: BodyDigest | undefined;

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source;
  }

  /** The digest of the whole body; null if it was not read, so that nothing depended on it. */
  get digest(): BodyDigest | null {
    if (this.#state === 'untouched') return null;
    if (this.#state === 'begun') throw new Error('the body was not read to its end');
    this.#digest ??= { sha256: this.#hash.digest('hex'), bytes: this.#bytes };
    return this.#digest;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    if (this.#state === 'ended') return;
    this.#state = 'begun';
    for await (const chunk of this.#source) {
      this.#hash.update(chunk);
      this.#bytes += chunk.byteLength;
      yield chunk;
    }
    this.#state = 'ended';
  }

  /**
   * Reads what is left and drops it.
   * @param most So many bytes of the whole body are of interest.
   * @returns False when it has more.
   */
  async drain(most: number): Promise<boolean> {
    for await (const _ of this) {
      if (this.#bytes > most) return false;
    }
    return this.#bytes <= most;
  }
}

/** SHA-256 of some text, in hexadecimal. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/**
 * Names a request that may be repeated: caller,
 * operation, object, and the id that the client gave it.
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
 * Digest of a request without an Arrow body: its route, its query, the headers that the operation reads,
 * and its JSON body with sorted keys. Credentials are not included, so they may differ in a repeat.
 */
export function requestDigest(
  request: CatalogRequest,
  body: Readonly<Record<string, JsonValue>>,
  { bodyDigest, restrictions = null }: DigestedParts = {},
) {
  const { operation, target, indexName, query, headers, root = [] } = request;
  const { identity: _, ...content } = body;
  const said = {
    // The answer of a repeat names objects as the first request did.
    ...(root.length > 0 && { root: [...root] }),
    target: target ?? null,
    index: indexName ?? null,
    query: [...query]
      .filter(([name]) => name !== 'delimiter')
      .map(([name, values]) => [name, [...values]])
      .toSorted(([left], [right]) => (String(left) < String(right) ? -1 : 1)),
    headers: operation.headers.map((name) => String(headers[name] ?? '')),
    // The answer of another time is of what the caller saw then.
    ...(restrictions !== null && { restrictions: jsonOf(restrictions) }),
    body: bodyDigest ?? (operation.body === 'map' ? body : content),
  };
  return digestOf(stringifyJson(ordered(said as JsonValue)));
}

interface DigestedParts {
  /** Replaces a body that is too long to be sorted. */
  readonly bodyDigest?: string | undefined;
  /** Those that bind the caller on the object; null for nothing. */
  readonly restrictions?: Restrictions | null;
}

function jsonOf(restrictions: Restrictions): JsonValue {
  return JSON.parse(JSON.stringify(restrictions)) as JsonValue;
}

/** A value with the keys of all its objects in order. */
function ordered(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(ordered);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, ordered(inner)]));
}

/** Identifies a request whose id the client chose. */
export interface PastRequest {
  readonly subject: string;
  readonly operation: string;
  /** Canonical path. */
  readonly object: string;
  readonly requestId: string;
}

/** The name of a repeatable request: its caller, operation, object and id. */
function nameOfRequest({ subject, operation, object, requestId }: PastRequest): string {
  const text = JSON.stringify([subject, operation, object, requestId]);
  return createHash('sha256').update(text).digest('hex');
}

/** Whether such a request took effect, as long as its answer is kept; of one without such an id nothing is known. */
export async function tookEffect(
  store: Pick<Store, 'get'>,
  request: PastRequest,
): Promise<boolean> {
  return (await store.get(answerKey(nameOfRequest(request)))) !== undefined;
}
