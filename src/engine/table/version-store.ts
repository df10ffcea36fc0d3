import type { Store } from '../../store/store.ts';
import { headKey, prefixRange, versionKey, versionsOf } from '../catalog/keys.ts';
import type { Stored, VersionRecord } from '../catalog/records.ts';
import { decodeVersion } from './version-codec.ts';

/** The branch that a table begins with. */
export const MAIN = 'main';

/** Which versions of a table a listing asks for. */
export interface VersionPage {
  /** Only versions beyond this one, in the order asked for. */
  readonly after?: bigint;
  readonly limit: number;
  readonly descending: boolean;
}

/** The versions of tables as the store has them. */
export class VersionStore {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** The newest version of a table, read now. */
  async head(tableId: string): Promise<Stored<VersionRecord> | undefined> {
    return this.#read(headKey(tableId, MAIN));
  }

  async at(tableId: string, version: bigint): Promise<Stored<VersionRecord> | undefined> {
    return this.#read(versionKey(tableId, MAIN, version));
  }

  /** Versions in ascending order, or descending if asked for. */
  async list(tableId: string, page: VersionPage): Promise<readonly VersionRecord[]> {
    const all = prefixRange(versionsOf(tableId, MAIN));
    const { start, end } = page.after === undefined ? all : this.#beyond(tableId, all, page);
    const entries = await this.#store.range({
      start,
      end,
      limit: page.limit,
      reverse: page.descending,
    });
    return entries.map((entry) => decodeVersion(entry.value));
  }

  #beyond(tableId: string, all: { start: string; end: string }, page: VersionPage) {
    const after = page.after ?? 0n;
    return page.descending
      ? { start: all.start, end: versionKey(tableId, MAIN, after) }
      : { start: versionKey(tableId, MAIN, after + 1n), end: all.end };
  }

  async #read(key: string): Promise<Stored<VersionRecord> | undefined> {
    const value = await this.#store.get(key);
    return value === undefined ? undefined : { key, value, content: decodeVersion(value) };
  }
}
