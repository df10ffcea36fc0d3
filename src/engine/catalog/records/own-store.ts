import type {
  StoreChange,
  Check,
  CommitResult,
  KeyRange,
  ReadCheck,
  Store,
  StoreEntry,
  StoreGuard,
  StoreWatch,
  Write,
} from '../../../store/store.ts';
import type { KeyCheck } from '../../../store/key-digest.ts';
import { foreignStore } from './catalog-id.ts';
import { CATALOG_KEY } from './keys.ts';

/**
 * A store that is read only as long as it is this catalog's: one that was wiped
 * or swapped under a running service would say that nothing exists.
 * Every read throws CatalogError ServiceUnavailable then.
 */
export class OwnStore implements Store {
  readonly #store: Store;
  readonly #id: string;
  readonly #onStrange: () => void;
  readonly checkKeys?: () => Promise<KeyCheck>;
  /** The bytes of the id that were seen last: the next are mostly the same. */
  #seen: Uint8Array | undefined;

  /**
   * @param id What the store carries while it is this catalog's.
   * @param onStrange Called whenever it carries something else.
   */
  constructor(store: Store, id: string, onStrange: () => void = () => undefined) {
    this.#store = store;
    this.#id = id;
    this.#onStrange = onStrange;
    if (store.checkKeys !== undefined) this.checkKeys = store.checkKeys.bind(store);
  }

  async get(key: string): Promise<Uint8Array | undefined> {
    const [value] = await this.getMany([key]);
    return value;
  }

  /** The id is read at the same moment as the rest. */
  async getMany(keys: readonly string[]): Promise<readonly (Uint8Array | undefined)[]> {
    const values = await this.#store.getMany([CATALOG_KEY, ...keys]);
    this.#require(values[0]);
    return values.slice(1);
  }

  /** The id is read afterwards: a store that is ours then was ours before. */
  async range(range: KeyRange): Promise<readonly StoreEntry[]> {
    const entries = await this.#store.range(range);
    this.#require(await this.#store.get(CATALOG_KEY));
    return entries;
  }

  /** The id is watched beside the rest. */
  watch(seen: readonly ReadCheck[]): StoreWatch | undefined {
    const id = this.#seen;
    if (id === undefined) return undefined;
    return this.#store.watch?.([{ kind: 'value', key: CATALOG_KEY, value: id }, ...seen]);
  }

  commit(checks: readonly Check[], writes: readonly Write[]): Promise<CommitResult> {
    return this.#store.commit(checks, writes);
  }

  changes(limit: number): Promise<readonly StoreChange[]> {
    return this.#store.changes(limit);
  }

  forget(sequences: readonly bigint[]): Promise<void> {
    return this.#store.forget(sequences);
  }

  sequence(): Promise<bigint> {
    return this.#store.sequence();
  }

  restore(entries: AsyncIterable<StoreEntry>, sequence: bigint): Promise<void> {
    return this.#store.restore(entries, sequence);
  }

  replay(changes: readonly StoreChange[]): Promise<void> {
    return this.#store.replay(changes);
  }

  guard(look: StoreGuard): void {
    this.#store.guard(look);
  }

  weakness(): Promise<string | undefined> {
    return this.#store.weakness();
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  #require(value: Uint8Array | undefined): void {
    const seen = this.#seen;
    if (value !== undefined && value === seen) return;
    if (value !== undefined && seen !== undefined && Buffer.compare(value, seen) === 0) return;
    const found = value === undefined ? undefined : Buffer.from(value).toString();
    if (found === this.#id) {
      this.#seen = value;
      return;
    }
    this.#onStrange();
    throw foreignStore(this.#id, found);
  }
}
