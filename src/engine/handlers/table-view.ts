import type { TableRecord, VersionRecord } from '../catalog/records.ts';
import type { Snapshot } from '../table/snapshot.ts';
import type { VersionPage } from '../table/version-store.ts';

/** What the operations on table metadata read of a table's data. */
export interface TableView {
  /**
   * A table at its newest version, or at the one asked for.
   * @throws CatalogError TableVersionNotFound.
   */
  snapshot(table: TableRecord, version?: bigint): Promise<Snapshot>;
  versions(table: TableRecord, page: VersionPage): Promise<readonly VersionRecord[]>;
}
