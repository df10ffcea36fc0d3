import type { ObjectPath } from '../../protocol/identifier.ts';
import type { Store } from '../../store/store.ts';
import { deregisteredKey, droppedKey, tableKey } from './records/keys.ts';
import { decodeDropped, decodeTable } from './records/records-codec.ts';
import type { Stored, TableRecord } from '../format/records.ts';
import { walkTables } from './records/table-walk.ts';
import { Pace } from '../base/pace.ts';

/** A table by its id, and where it was when somebody wrote that down. */
interface TableMark {
  readonly id: string;
  readonly path: ObjectPath;
}

/** A table and its path now. */
export interface PlacedTable {
  readonly path: ObjectPath;
  readonly table: Stored<TableRecord>;
}

/**
 * Finds a table by its id: where it was, or wherever it was renamed to, for which
 * all tables are looked at. Answers nothing when it is not in the catalog any more.
 */
export async function searchTable(store: Store, mark: TableMark): Promise<PlacedTable | undefined> {
  return (await tableAt(store, mark)) ?? (await renamed(store, mark));
}

async function tableAt(store: Store, { id, path }: TableMark): Promise<PlacedTable | undefined> {
  const key = tableKey(path);
  const value = await store.get(key);
  if (value === undefined) return undefined;
  const content = decodeTable(value);
  return content.id === id ? { path, table: { key, value, content } } : undefined;
}

async function renamed(store: Store, { id }: TableMark): Promise<PlacedTable | undefined> {
  if ((await removed(store, id)) !== undefined) return undefined;
  for await (const { path, value } of walkTables(store, EVERY_TABLE)) {
    const content = decodeTable(value);
    if (content.id === id) return { path, table: { key: tableKey(path), value, content } };
  }
  return undefined;
}

const EVERY_TABLE = { delimiter: '/', after: '', chunk: 1000, opens: () => true };

/** The record of a table that can be brought back. */
async function removed(store: Store, id: string): Promise<Uint8Array | undefined> {
  const [dropped, deregistered] = await store.getMany([droppedKey(id), deregisteredKey(id)]);
  return dropped ?? deregistered;
}

/** Finds the current or last paths of tables. All tables are listed at most once. */
export class LastPaths {
  readonly #store: Store;
  readonly #cache = new Map<string, ObjectPath>();
  #all: Promise<ReadonlyMap<string, ObjectPath>> | undefined;

  constructor(store: Store) {
    this.#store = store;
  }

  async of(mark: TableMark): Promise<ObjectPath> {
    const path = this.#cache.get(mark.id) ?? (await this.#find(mark));
    this.#cache.set(mark.id, path);
    return path;
  }

  async #find(mark: TableMark): Promise<ObjectPath> {
    const there = await tableAt(this.#store, mark);
    if (there !== undefined) return there.path;
    const record = await removed(this.#store, mark.id);
    if (record !== undefined) return decodeDropped(record).path;
    this.#all ??= pathsById(this.#store);
    return (await this.#all).get(mark.id) ?? mark.path;
  }
}

async function pathsById(store: Store): Promise<ReadonlyMap<string, ObjectPath>> {
  const paths = new Map<string, ObjectPath>();
  const pace = new Pace();
  for await (const { path, value } of walkTables(store, EVERY_TABLE)) {
    paths.set(decodeTable(value).id, path);
    await pace.turn();
  }
  return paths;
}
