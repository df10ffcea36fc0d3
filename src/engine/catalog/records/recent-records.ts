import { LRUCache } from 'lru-cache';
import { StoreError } from '../../../store/store-error.ts';
import type { Store, Write } from '../../../store/store.ts';

/** Memory for records, in bytes. */
const MEMORY_BYTES = 8 * 2 ** 20;
/** Estimated bytes of an entry beside its key and value. */
const ENTRY_BYTES = 128;

/** First letters of the keys that are kept: tables, versions, branches and tags. Never a head, which says what is newest. */
const KEPT = new Set(['T', 'V', 'B', 'G']);
/** That of namespaces, which a table's name is looked up beside: where a table is, none is. */
const NAMESPACE = 'N';

/** Whether what a key has is kept. */
export function isNoted(key: string): boolean {
  return KEPT.has(key.charAt(0));
}

interface Entry {
  /** Null for a record that was changed here, or is not there. */
  readonly value: Uint8Array | null;
  /** When it was read or changed, in changes of this process. */
  readonly at: number;
}

/**
 * The records of tables, versions, branches and tags that this process read
 * last. They answer for a version that is asked for by its number or a tag while
 * the store is unavailable: such a version never changes. Nothing else may be answered
 * from here, since other processes change what is newest.
 */
export class RecentRecords {
  readonly #entries: LRUCache<string, Entry>;
  #changes = 0;

  constructor(memoryBytes = MEMORY_BYTES) {
    this.#entries = new LRUCache({ maxSize: memoryBytes });
  }

  /** A moment: what is read from the store after it is newer than what was changed here before. */
  get now(): number {
    return this.#changes;
  }

  /**
   * Keeps what was read.
   * @param since A moment before it was read.
   */
  note(keys: readonly string[], values: readonly (Uint8Array | undefined)[], since: number): void {
    for (let index = 0; index < keys.length; index++) {
      const key = keys[index]!;
      if (isNoted(key)) this.#note(key, values[index] ?? null, since);
    }
  }

  /** A record was needed, though it was not read. */
  use(key: string): void {
    this.#entries.get(key);
  }

  /** Evicts records that this process has changed, or may have. */
  changed(writes: readonly Write[]): void {
    const at = ++this.#changes;
    for (const { key } of writes) if (isNoted(key)) this.#set(key, null, at);
  }

  /** The records as a store that only reads. A key that is not known is as if the store did not answer. */
  get store(): Store {
    return recalling((key) => this.#recall(key));
  }

  /** An unchanged record stays; this is the common case. */
  #note(key: string, value: Uint8Array | null, since: number): void {
    const cached = this.#entries.get(key);
    if (cached !== undefined && (cached.at > since || isSame(cached.value, value))) return;
    this.#set(key, value, since);
  }

  #recall(key: string): Uint8Array | undefined {
    if (key.startsWith(NAMESPACE)) return undefined;
    const value = this.#entries.get(key)?.value ?? undefined;
    if (value === undefined) throw storeUnavailable();
    return value;
  }

  #set(key: string, value: Uint8Array | null, at: number): void {
    const size = ENTRY_BYTES + 2 * key.length + (value?.byteLength ?? 0);
    this.#entries.set(key, { value, at }, { size });
  }
}

function isSame(left: Uint8Array | null, right: Uint8Array | null): boolean {
  if (left === right) return true;
  if (left === null || right === null) return false;
  return left.byteLength === right.byteLength && Buffer.compare(left, right) === 0;
}

function recalling(recall: (key: string) => Uint8Array | undefined): Store {
  const refuse = () => Promise.reject(storeUnavailable());
  return {
    get: async (key) => recall(key),
    getMany: async (keys) => keys.map(recall),
    range: refuse,
    commit: refuse,
    changes: refuse,
    forget: refuse,
    sequence: refuse,
    restore: refuse,
    replay: refuse,
    guard: () => undefined,
    weakness: refuse,
    close: async () => undefined,
  };
}

function storeUnavailable(): StoreError {
  return new StoreError('unavailable', 'the store does not answer, and this was not read before');
}
