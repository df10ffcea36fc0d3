import type { ObjectPath } from '../../../protocol/identifier.ts';
import type { Check, Store, Write } from '../../../store/store.ts';
import type { TableKind, TableRecord } from '../../format/records.ts';
import { droppedTables, undropTable } from '../../catalog/table-undrop.ts';
import { locationKey, requireFree, reserveLocation } from '../../versions/lines/locations.ts';
import type { RetentionParts } from './parts.ts';

/** A table that was dropped and can be brought back. */
export interface DroppedTable {
  readonly id: string;
  /** The path that it had. */
  readonly path: ObjectPath;
  readonly kind: TableKind;
  readonly droppedMillis: number;
}

/** The tables that were dropped and are still kept. */
export class DroppedTables {
  readonly #parts: RetentionParts;

  constructor(parts: RetentionParts) {
    this.#parts = parts;
  }

  /** All of them; those that were dropped last come first. */
  async list(): Promise<readonly DroppedTable[]> {
    const found: DroppedTable[] = [];
    for await (const { content } of droppedTables(this.#parts.store)) {
      const { path, record, droppedMillis } = content;
      found.push({ id: record.id, path, kind: record.kind, droppedMillis });
    }
    return found.toSorted((left, right) => right.droppedMillis - left.droppedMillis);
  }

  /**
   * Brings a table back, with its versions, tags and properties.
   * @param id The table's id; the one that was dropped last of the path when absent.
   * @param as The path that it gets; the one that it had when absent.
   * @throws CatalogError TableNotFound when there is none, and why it cannot be at that path.
   */
  async undrop(path: ObjectPath, id?: string, as?: ObjectPath): Promise<DroppedTable> {
    const also = (table: TableRecord) => holdOf(this.#parts.store, table);
    const { record, droppedMillis } = await undropTable(this.#parts, { path, id, as, also });
    return { id: record.id, path: as ?? path, kind: record.kind, droppedMillis };
  }
}

/** A dropped table keeps its location; one that has none it gets again, if nothing lies there now. */
async function holdOf(
  store: Store,
  { id, location }: TableRecord,
): Promise<{ readonly checks: readonly Check[]; readonly writes: readonly Write[] }> {
  if (location === null) return { checks: [], writes: [] };
  const key = locationKey(location);
  const value = await store.get(key);
  if (value !== undefined && Buffer.from(value).toString() === id) {
    return { checks: [{ kind: 'value', key, value }], writes: [] };
  }
  await requireFree(store, location);
  return reserveLocation(location, id);
}
