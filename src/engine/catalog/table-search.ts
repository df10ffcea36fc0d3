import type { ObjectPath } from '../../protocol/identifier.ts';
import type { Store } from '../../store/store.ts';
import { deregisteredKey, droppedKey, tableKey } from './keys.ts';
import { decodeDropped, decodeTable } from './records-codec.ts';
import type { Stored, TableRecord } from './records.ts';
import { walkTables } from './table-walk.ts';

/** A table by its id, and where it was when somebody wrote that down. */
export interface TableMark {
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
  const gone = await store.getMany([droppedKey(id), deregisteredKey(id)]);
  if (gone.some((value) => value !== undefined)) return undefined;
  const options = { delimiter: '/', after: '', chunk: 1000, opens: () => true };
  for await (const { path, value } of walkTables(store, options)) {
    const content = decodeTable(value);
    if (content.id === id) return { path, table: { key: tableKey(path), value, content } };
  }
  return undefined;
}

/** Where a table is now, or was last. */
export async function lastPath(store: Store, mark: TableMark): Promise<ObjectPath> {
  const found = await searchTable(store, mark);
  if (found !== undefined) return found.path;
  const [dropped, deregistered] = await store.getMany([
    droppedKey(mark.id),
    deregisteredKey(mark.id),
  ]);
  const gone = dropped ?? deregistered;
  return gone === undefined ? mark.path : decodeDropped(gone).path;
}
