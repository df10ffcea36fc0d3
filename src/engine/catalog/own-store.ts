import type {
  Change,
  Check,
  CommitResult,
  Range,
  Store,
  StoreEntry,
  Write,
} from '../../store/store.ts';
import { stranger } from './catalog-id.ts';
import { CATALOG_KEY } from './keys.ts';

/**
 * A store that is read only as long as it is this catalog's: one that was wiped
 * or swapped under a running service would say that nothing exists.
 * Every read throws CatalogError ServiceUnavailable then.
 */
export class OwnStore implements Store {
  readonly #store: Store;
  readonly #id: string;

  /** @param id What the store carries while it is this catalog's. */
  constructor(store: Store, id: string) {
    this.#store = store;
    this.#id = id;
  }

  async get(key: string): Promise<Uint8Array | undefined> {
    const [value] = await this.getMany([key]);
    return value;
  }

  /** The id is read at the same moment as the rest. */
  async getMany(keys: readonly string[]): Promise<readonly (Uint8Array | undefined)[]> {
    const [id, ...values] = await this.#store.getMany([CATALOG_KEY, ...keys]);
    this.#require(id);
    return values;
  }

  /** The id is read afterwards: a store that is ours then was ours before. */
  async range(range: Range): Promise<readonly StoreEntry[]> {
    const entries = await this.#store.range(range);
    this.#require(await this.#store.get(CATALOG_KEY));
    return entries;
  }

  commit(checks: readonly Check[], writes: readonly Write[]): Promise<CommitResult> {
    return this.#store.commit(checks, writes);
  }

  changes(limit: number): Promise<readonly Change[]> {
    return this.#store.changes(limit);
  }

  forget(sequences: readonly bigint[]): Promise<void> {
    return this.#store.forget(sequences);
  }

  weakness(): Promise<string | undefined> {
    return this.#store.weakness();
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  #require(value: Uint8Array | undefined): void {
    const found = value === undefined ? undefined : Buffer.from(value).toString();
    if (found !== this.#id) throw stranger(this.#id, found);
  }
}
