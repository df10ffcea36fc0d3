import { LRUCache } from 'lru-cache';
import type { Answer, CatalogRequest } from '../../../protocol/backend.ts';
import type { OperationName } from '../../../protocol/operations/operation-name.ts';
import { textOfRestrictions, type Restrictions } from '../../../protocol/restrictions.ts';
import type { ReadCheck, Store, StoreWatch } from '../../../store/store.ts';
import type { Basis, Handler, HandlerTable } from './handler.ts';
import { seenIn } from './freshness.ts';
import { CatalogError, type ErrorName } from '../../../protocol/errors.ts';
import { StoreError } from '../../../store/store-error.ts';
import { namesVersion } from './parameters.ts';
import { onlyItem } from '../../base/items.ts';
import type { MaybePromise } from '../../../protocol/maybe-promise.ts';
import { andThen } from '../../../protocol/maybe-promise.ts';

type SeenValue = Extract<ReadCheck, { kind: 'value' }>;

/** Watches records by reading them again in one request, for a store with latency. */
class ReadWatch implements StoreWatch {
  readonly #store: Pick<Store, 'getMany'>;
  readonly #seen: readonly SeenValue[];
  readonly #keys: readonly string[];

  constructor(store: Pick<Store, 'getMany'>, seen: readonly SeenValue[]) {
    this.#store = store;
    this.#seen = seen;
    this.#keys = seen.map(({ key }) => key);
  }

  async holds(): Promise<boolean> {
    const values = await this.#store.getMany(this.#keys);
    return this.#seen.every(({ value }, at) => isSame(value, values[at]));
  }
}

/** The seen values; undefined if anything else was seen. */
function valuesOf(seen: readonly ReadCheck[]): readonly SeenValue[] | undefined {
  const values = seen.filter((one) => one.kind === 'value');
  return values.length === seen.length ? values : undefined;
}

function isSame(seen: Uint8Array | null, value: Uint8Array | undefined): boolean {
  if (seen === null || value === undefined) return seen === null && value === undefined;
  return Buffer.compare(seen, value) === 0;
}

/**
 * Answers from cached records if the store is unavailable and the request names a version or a tag;
 * everything else stays refused.
 * @param past Operations that can; they may refuse unknown objects.
 */
export function withRecall(handlers: HandlerTable, past: HandlerTable): HandlerTable {
  const both = Object.entries(past).map(([name, recall]) => {
    const handler = handlers[name as keyof HandlerTable];
    return [name, handler === undefined ? recall : recalling(handler, recall)] as const;
  });
  return { ...handlers, ...Object.fromEntries(both) };
}

function recalling(handler: Handler, recall: Handler): Handler {
  return async (call) => {
    try {
      return await handler(call);
    } catch (error) {
      if (!isAway(error) || !namesVersion(call)) throw error;
      return recall(call).catch((refusal: unknown) => {
        throw reportsMissing(refusal) ? error : refusal;
      });
    }
  };
}

function isAway(error: unknown): boolean {
  return error instanceof StoreError && error.kind === 'unavailable';
}

/** An object unknown here may exist. */
function reportsMissing(refusal: unknown): boolean {
  return refusal instanceof CatalogError && missing.has(refusal.row.name);
}

const missing: ReadonlySet<ErrorName> = new Set([
  'NamespaceNotFound',
  'TableNotFound',
  'TableVersionNotFound',
  'TableTagNotFound',
  'TableBranchNotFound',
]);

/** Cache size for all answers and for one, in bytes. */
const MEMORY_BYTES = 8 * 2 ** 20;
const LARGEST_BYTES = 2 ** 18;
/** Estimated overhead of an answer in bytes. */
const ENTRY_BYTES = 1024;
/** Limit of watched records of an answer. */
const MOST_RECORDS = 64;
/** Limit of a body in a cache key, in bytes. */
const LONGEST_BODY = 256;

/** Reads whose answers are cached: frequent ones made of few records. */
const KEPT: ReadonlySet<OperationName> = new Set<OperationName>([
  'DescribeTable',
  'TableExists',
  'CountTableRows',
  'GetTableStats',
  'DescribeTableVersion',
  'ListTableTags',
  'DescribeNamespace',
  'NamespaceExists',
]);

interface CachedAnswer {
  readonly answer: Answer;
  readonly newest: Basis['newest'];
  readonly watch: StoreWatch;
  /** Whether to check it: with a remote store only after the answer was the same twice. */
  readonly lasts: boolean;
}

/**
 * Cache of answers of small reads with their records. Other processes change records, so each use
 * asks the store, at one moment, whether all records are unchanged. Then the answer would be the
 * same.
 */
export class KnownAnswers {
  readonly #store: Pick<Store, 'watch' | 'getMany'>;
  readonly #answers = new LRUCache<string, CachedAnswer>({ maxSize: MEMORY_BYTES });
  /** What was found in this turn of the event loop. Its requests arrived before, so each may rest on the first look. */
  readonly #held = new Map<StoreWatch, MaybePromise<boolean>>();

  constructor(store: Pick<Store, 'watch' | 'getMany'>) {
    this.#store = store;
  }

  /**
   * The cached answer if its records are unchanged and the client has seen nothing newer.
   * @param question From `questionOf`.
   */
  find(
    question: string,
    { headers }: Pick<CatalogRequest, 'headers'>,
  ): MaybePromise<Answer | undefined> {
    const cached = this.#answers.get(question);
    if (cached === undefined || !cached.lasts || !isNewEnough(cached, headers)) return undefined;
    return andThen(this.#holds(cached.watch), (held) => (held ? cached.answer : undefined));
  }

  /** Caches an answer with its basis. */
  keep(question: string, answer: Answer, { records, newest }: Basis): void {
    const bytes = bytesOf(question, answer, records);
    if (bytes > LARGEST_BYTES || records.length > MOST_RECORDS) return;
    const prompt = this.#store.watch?.(records);
    const watch = prompt ?? this.#readAgain(records);
    if (watch === undefined) return;
    const lasts = prompt !== undefined || this.#answers.get(question)?.answer.body === answer.body;
    this.#answers.set(question, { answer, newest, watch, lasts }, { size: bytes });
  }

  #holds(watch: StoreWatch): MaybePromise<boolean> {
    const before = this.#held.get(watch);
    if (before !== undefined) return before;
    // Runs before anything else is received.
    if (this.#held.size === 0) process.nextTick(() => this.#held.clear());
    const held = holds(watch);
    this.#held.set(watch, held);
    return held;
  }

  #readAgain(records: readonly ReadCheck[]): StoreWatch | undefined {
    const values = valuesOf(records);
    return values && new ReadWatch(this.#store, values);
  }
}

/** Whether an answer is as new as what the client has seen. */
function isNewEnough({ newest }: CachedAnswer, headers: CatalogRequest['headers']): boolean {
  if (newest === null) return true;
  const seen = seenIn(headers);
  return seen === undefined || (newest !== undefined && newest >= seen);
}

/** Errors of the store are reported by the read that follows. */
function holds(watch: StoreWatch): MaybePromise<boolean> {
  try {
    const held = watch.holds() ?? false;
    return typeof held === 'boolean' ? held : held.catch(() => false);
  } catch {
    return false;
  }
}

/**
 * Cache key of a request: everything on which its answer depends beside the store; undefined for
 * requests without cached answers.
 * @param text The body.
 * @param restrictions Those that bind the caller; null for none.
 */
export function questionOf(
  request: CatalogRequest,
  text: string,
  restrictions: Restrictions | null,
): string | undefined {
  const { operation, dialect, object, root = [], query } = request;
  if (!KEPT.has(operation.name) || text.length > LONGEST_BODY) return undefined;
  // A context in the body is recorded for each request.
  if (text.includes('"context"') || text.includes('\\u')) return undefined;
  // The root has no record.
  if (object.length === 0) return undefined;
  // The delimiter is the usual query parameter, and no answer depends on it.
  if (query.size > 1 || (query.size === 1 && !query.has('delimiter'))) return undefined;
  const name = onlyItem(object) ?? object.join('\0');
  // Names hold no control characters.
  const question = `${operation.name} ${dialect} ${root.length} ${name}\u0001${text}`;
  return restrictions === null ? question : `${question}\u0001${textOfRestrictions(restrictions)}`;
}

function bytesOf(question: string, { body }: Answer, records: readonly ReadCheck[]): number {
  const said = typeof body === 'string' ? body.length : 0;
  let bytes = ENTRY_BYTES + 2 * (question.length + said);
  for (const seen of records) {
    if (seen.kind === 'value') bytes += 2 * seen.key.length + 2 * (seen.value?.byteLength ?? 0);
  }
  return bytes;
}
