import { disk } from './disk.ts';
import { CatalogError } from '../../src/protocol/errors.ts';
import type { Stored, TableRecord, VersionRecord } from '../../src/engine/format/records.ts';
import type { TableView } from '../../src/engine/handlers/call/read-place.ts';
import { branchNotFound } from '../../src/engine/versions/lines/branches.ts';
import { MAIN, MAIN_CHAIN, type Chain } from '../../src/engine/format/chain.ts';
import type { FoundSnapshot, Snapshot } from '../../src/engine/format/snapshot.ts';
import type { VersionPage } from '../../src/engine/versions/lines/version-store.ts';

/** Tables of which the versions are given, for what is asked about tables without their rows. */
export class GivenTables implements TableView {
  readonly storage = disk;
  readonly #snapshots = new Map<string, readonly Snapshot[]>();

  /** The versions of a table, in order. */
  give(table: TableRecord, snapshots: readonly Omit<Snapshot, 'tableId'>[]): void {
    this.#snapshots.set(
      table.id,
      snapshots.map((snapshot) => ({ ...snapshot, tableId: table.id })),
    );
  }

  async chain(_: TableRecord, branch: string): Promise<Chain> {
    if (branch === MAIN) return MAIN_CHAIN;
    throw branchNotFound(branch);
  }

  async snapshot(table: TableRecord, version?: bigint): Promise<Snapshot> {
    const all = this.#snapshots.get(table.id) ?? [];
    const found = version === undefined ? all.at(-1) : all.find((one) => one.version === version);
    if (found !== undefined) return found;
    throw new CatalogError('TableVersionNotFound', `the table has no version ${version}`);
  }

  async found(table: TableRecord, version?: bigint): Promise<FoundSnapshot> {
    const snapshot = await this.snapshot(table, version);
    return { snapshot, record: await this.version(table, version) };
  }

  async version(table: TableRecord, version?: bigint): Promise<Stored<VersionRecord>> {
    const content = versionOf(await this.snapshot(table, version));
    return { key: '', value: new Uint8Array(), content };
  }

  async versions(table: TableRecord, page: VersionPage): Promise<readonly VersionRecord[]> {
    const all = (this.#snapshots.get(table.id) ?? []).map(versionOf);
    const ordered = page.descending ? all.toReversed() : all;
    const { after } = page;
    const beyond = ordered.filter(
      ({ version }) => after === undefined || (page.descending ? version < after : version > after),
    );
    return beyond.slice(0, page.limit);
  }
}

function versionOf({ version, timestampMillis }: Snapshot): VersionRecord {
  const manifest = `versions/${String(version).padStart(20, '0')}.arrow`;
  return {
    version,
    timestampMillis,
    manifest,
    staging: `${manifest}-staging`,
    manifestBytes: 1234,
    metadata: {},
  };
}
