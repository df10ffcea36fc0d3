import type { Stored, TableRecord, VersionRecord } from '../catalog/records.ts';
import type { Chain } from '../table/chain.ts';
import type { FoundSnapshot, Snapshot } from '../table/snapshot.ts';
import type { VersionPage } from '../table/version-store.ts';

/** What the operations on table metadata read of a table's data. */
export interface TableView {
  /**
   * The line of versions that a name means: `main`, or a branch.
   * @throws CatalogError TableBranchNotFound.
   */
  chain(table: TableRecord, branch: string): Promise<Chain>;
  /**
   * A table at its newest version, or at the one asked for.
   * @throws CatalogError TableVersionNotFound.
   */
  snapshot(table: TableRecord, version?: bigint, chain?: Chain): Promise<Snapshot>;
  /** The same with the record by which the version was found. */
  found(table: TableRecord, version?: bigint, chain?: Chain): Promise<FoundSnapshot>;
  /**
   * The record of a table's newest version, or of the one asked for.
   * @throws CatalogError TableVersionNotFound.
   */
  version(table: TableRecord, version?: bigint, chain?: Chain): Promise<Stored<VersionRecord>>;
  versions(table: TableRecord, page: VersionPage, chain?: Chain): Promise<readonly VersionRecord[]>;
}
