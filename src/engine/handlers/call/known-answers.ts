import { LRUCache } from 'lru-cache';
import type { Answer, CatalogRequest } from '../../../protocol/backend.ts';
import type { OperationName } from '../../../protocol/operations/operation-name.ts';
import type { ReadCheck, Store, Watch } from '../../../store/store.ts';
import type { Basis, Handler, HandlerTable } from './handler.ts';
import { seenIn } from './freshness.ts';
import { CatalogError, type ErrorName } from '../../../protocol/errors.ts';
import { StoreError } from '../../../store/errors.ts';
import { namesVersion } from './parameters.ts';

type SeenValue = Extract<ReadCheck, { kind: 'value' }>;

/**
 * Looks at records by reading all of them again, for a store that has to be waited for: once,
 * where making an answer again takes several reads, one after the other.
 */
class ReadWatch implements Watch {
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

/** What was seen as values alone; undefined where more than values was. */
function valuesOf(seen: readonly ReadCheck[]): readonly SeenValue[] | undefined {
  const values = seen.filter((one) => one.kind === 'value');
  return values.length === seen.length ? values : undefined;
}

function isSame(seen: Uint8Array | null, value: Uint8Array | undefined): boolean {
  if (seen === null || value === undefined) return seen === null && value === undefined;
  return Buffer.compare(seen, value) === 0;
}

/**
 * Answers from what was read before when the store is unavailable and a version is
 * asked for by its number or a tag; everything else stays refused.
 * @param past The operations that can; they may refuse what they do not know as the store does.
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

/** What is not known here may be there all the same. */
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

/** Memory for answers, and the most that one may take, in bytes. */
const MEMORY_BYTES = 8 * 2 ** 20;
const LARGEST_BYTES = 2 ** 18;
/** What an answer takes beside its texts and its records: an estimate. */
const ENTRY_BYTES = 1024;
/** The most records that are looked at again. */
const MOST_RECORDS = 64;
/** The longest body that an answer is found by. */
const LONGEST_BODY = 256;

/** The reads of which answers are kept: they are asked often, and each is made of a few records. */
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

interface Kept {
  readonly answer: Answer;
  readonly newest: Basis['newest'];
  readonly watch: Watch;
  /** Whether it is worth a look: where that takes a journey, a second answer has to be like the first. */
  readonly lasts: boolean;
}

/**
 * Answers of small reads with the records that they were made of. Other processes change
 * what is newest, so nothing is believed: each time the store is asked, at one moment,
 * whether every one of those records is there with the same bytes. If so the answer
 * would be the same again, and nothing has to be made again.
 */
export class KnownAnswers {
  readonly #store: Pick<Store, 'watch' | 'getMany'>;
  readonly #kept = new LRUCache<string, Kept>({ maxSize: MEMORY_BYTES });

  constructor(store: Pick<Store, 'watch' | 'getMany'>) {
    this.#store = store;
  }

  /**
   * The answer to a question, if the store still holds what it was made of and its client has seen nothing newer.
   * @param question As `questionOf` gives it.
   */
  find(
    question: string,
    { headers }: Pick<CatalogRequest, 'headers'>,
  ): Answer | undefined | Promise<Answer | undefined> {
    const kept = this.#kept.get(question);
    if (kept === undefined || !kept.lasts || !isNewEnough(kept, headers)) return undefined;
    const held = holds(kept.watch);
    if (typeof held === 'boolean') return held ? kept.answer : undefined;
    return held.then((late) => (late ? kept.answer : undefined));
  }

  /** Keeps an answer with what it was made of. */
  keep(question: string, answer: Answer, { records, newest }: Basis): void {
    const bytes = bytesOf(question, answer, records);
    if (bytes > LARGEST_BYTES || records.length > MOST_RECORDS) return;
    const prompt = this.#store.watch?.(records);
    const watch = prompt ?? this.#readAgain(records);
    if (watch === undefined) return;
    const lasts = prompt !== undefined || this.#kept.get(question)?.answer.body === answer.body;
    this.#kept.set(question, { answer, newest, watch, lasts }, { size: bytes });
  }

  #readAgain(records: readonly ReadCheck[]): Watch | undefined {
    const values = valuesOf(records);
    return values && new ReadWatch(this.#store, values);
  }
}

/** Whether an answer may be given to a client that says what it has seen: others see to it that nothing newer was lost. */
function isNewEnough({ newest }: Kept, headers: CatalogRequest['headers']): boolean {
  if (newest === null) return true;
  const seen = seenIn(headers);
  return seen === undefined || (newest !== undefined && newest >= seen);
}

/** What keeps the store from answering, whoever reads from it is told. */
function holds(watch: Watch): boolean | Promise<boolean> {
  try {
    const held = watch.holds() ?? false;
    return typeof held === 'boolean' ? held : held.catch(() => false);
  } catch {
    return false;
  }
}

/**
 * A text that names everything that the answer to a request depends on beside the
 * store; undefined for requests of which no answers are kept.
 * @param text The body.
 */
export function questionOf(request: CatalogRequest, text: string): string | undefined {
  const { operation, dialect, object, root = [], query } = request;
  if (!KEPT.has(operation.name) || text.length > LONGEST_BODY) return undefined;
  // A context in the body is read, and recorded, each time.
  if (text.includes('"context"') || text.includes('\\u')) return undefined;
  // The root is made of no record.
  if (object.length === 0) return undefined;
  // How names are joined is the only thing that most clients say there, and no answer depends on it.
  if (query.size > 1 || (query.size === 1 && !query.has('delimiter'))) return undefined;
  const name = object.length === 1 ? object[0]! : object.join('\0');
  // Names hold no control characters.
  return `${operation.name} ${dialect} ${root.length} ${name}\u0001${text}`;
}

function bytesOf(question: string, { body }: Answer, records: readonly ReadCheck[]): number {
  const said = typeof body === 'string' ? body.length : 0;
  let bytes = ENTRY_BYTES + 2 * (question.length + said);
  for (const seen of records) {
    if (seen.kind === 'value') bytes += 2 * seen.key.length + 2 * (seen.value?.byteLength ?? 0);
  }
  return bytes;
}
