import { LRUCache } from 'lru-cache';
import type { ObjectPath } from '../../../protocol/identifier.ts';
import type { ReadCheck, Store, StoreWatch } from '../../../store/store.ts';
import { unchanged } from '../../catalog/records/reader.ts';
import type { Chain } from '../../format/chain.ts';
import type { Stored, TableRecord, VersionRecord } from '../../format/records.ts';

/** Memory for the records, in bytes. */
const MEMORY_BYTES = 4 * 2 ** 20;
/** Estimated bytes of an entry beside the keys and values of its records. */
const ENTRY_BYTES = 1024;

/** The records of the newest version of a line of a table of the engine. */
export interface KnownTable {
  readonly table: Stored<TableRecord>;
  readonly chain: Chain;
  readonly record: Stored<VersionRecord>;
}

interface Entry {
  readonly known: KnownTable;
  readonly watch: StoreWatch;
}

/**
 * The records by which the newest version of a table was found. Other processes change records, so each use asks the
 * store, at one moment, whether all are unchanged: one look in place of a read for each step from the name to the version.
 * Stores that cannot tell without a wait are read instead.
 */
export class KnownTables {
  readonly #store: Pick<Store, 'watch'>;
  readonly #entries: LRUCache<string, Entry>;

  constructor(store: Pick<Store, 'watch'>, memoryBytes = MEMORY_BYTES) {
    this.#store = store;
    this.#entries = new LRUCache({ maxSize: memoryBytes });
  }

  /** The records if all are as they were; undefined if they have to be read. */
  find(path: ObjectPath, branch: string): KnownTable | undefined {
    const name = nameOf(path, branch);
    const entry = this.#entries.get(name);
    if (entry === undefined) return undefined;
    const held = holds(entry.watch);
    if (held === false) this.#entries.delete(name);
    return held === true ? entry.known : undefined;
  }

  /** Keeps records that were read just now. */
  keep(path: ObjectPath, branch: string, known: KnownTable): void {
    const { table, chain, record } = known;
    const seen = [unchanged(table), ...chain.checks, unchanged(record)];
    const watch = this.#store.watch?.(seen);
    if (watch === undefined) return;
    const name = nameOf(path, branch);
    this.#entries.set(name, { known, watch }, { size: sizeOf(name, seen) });
  }
}

/** Names hold no control characters. */
function nameOf(path: ObjectPath, branch: string): string {
  return `${path.join('\0')}\u0001${branch}`;
}

/** Errors of the store are reported by the read that follows. */
function holds(watch: StoreWatch): boolean | undefined {
  try {
    const held = watch.holds();
    if (typeof held === 'boolean' || held === undefined) return held;
    held.catch(() => undefined);
  } catch {
    // As for a store that cannot tell.
  }
  return undefined;
}

function sizeOf(name: string, seen: readonly ReadCheck[]): number {
  let bytes = ENTRY_BYTES + 2 * name.length;
  for (const one of seen) {
    if (one.kind === 'value') bytes += 4 * one.key.length + 2 * (one.value?.byteLength ?? 0);
  }
  return bytes;
}
