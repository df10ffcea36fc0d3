import type { Storage } from '../../storage/storage.ts';
import type { Check, Write } from '../../store/store.ts';
import { commitLoop, type Committer } from '../catalog/records/commit-loop.ts';
import { versionKey } from '../catalog/records/keys.ts';
import { unchanged } from '../catalog/records/reader.ts';
import type { Stored, TableRecord, VersionRecord } from '../format/records.ts';
import { sealOf, type Seal } from '../catalog/records/seal.ts';
import { removeManifests } from './managed/managed-manifests.ts';
import type { Waste } from './leases/waste.ts';
import { wasteWrites } from './leases/waste-record.ts';
import { headCheck, type VersionStore } from './lines/version-store.ts';
import { MAIN_CHAIN, type Chain } from '../format/chain.ts';

/** A selection of versions to remove. */
export interface VersionRemoval {
  /** Reads the table's record; called before each attempt. */
  readonly table: () => Promise<Stored<TableRecord>>;
  /** The line whose own versions are removed, read with the table; main by default. */
  readonly chain?: (table: TableRecord) => Promise<Chain>;
  readonly selected: (version: bigint) => boolean;
  /** The versions of the line that something else names, and the checks that it is still so. */
  readonly retained: (
    table: TableRecord,
    chain: Chain,
  ) => Promise<{ readonly versions: ReadonlySet<bigint>; readonly checks: readonly Check[] }>;
  /** Versions of the line that can be removed, read again for each attempt; all unless given. */
  readonly candidates?: (table: TableRecord, chain: Chain) => Promise<readonly VersionRecord[]>;
  /** Whether the next collection removes the files of an engine table; otherwise it happens as soon as nothing reads them. */
  readonly filesLater?: boolean;
  /** Seal over the numbers of the removed versions. */
  readonly seal?: Seal<readonly bigint[]> | undefined;
}

/** Dependencies of a removal. */
export interface RemovalParts {
  readonly storage: Storage;
  readonly committer: Committer;
  readonly versions: VersionStore;
  readonly folder: (table: TableRecord) => string;
  readonly waste: Pick<Waste, 'removeSoon'>;
  /** Folders of the gateway itself, of which nothing is removed. */
  readonly retained: readonly string[];
}

interface Removed {
  readonly table: TableRecord;
  readonly records: readonly VersionRecord[];
  /** The keys of what was written down for the removal of their files. */
  readonly waste: readonly string[];
}

/** A removal as a part of a commit; nothing is written when there is nothing to remove. */
interface PlannedRemoval extends Removed {
  readonly checks: readonly Check[];
  readonly writes: readonly Write[];
}

/**
 * Removes versions that were asked for, but never the newest nor one that is
 * kept, and then the files that no other version needs, once nothing that is
 * in progress can be reading them. Of a Lance table the manifests go: its data is for
 * its clients to clean up.
 * @returns The versions that were removed.
 */
export async function removeVersions(
  parts: RemovalParts,
  removal: VersionRemoval,
): Promise<readonly bigint[]> {
  const { table, records, waste } = await commitRemoval(parts, removal);
  if (table.kind !== 'engine') await removeManifests(parts.storage, parts.folder(table), records);
  else if (waste.length > 0 && removal.filesLater !== true)
    await parts.waste.removeSoon(table, waste);
  return versionsOf(records);
}

function versionsOf(records: readonly VersionRecord[]): readonly bigint[] {
  return records.map(({ version }) => version);
}

async function commitRemoval(parts: RemovalParts, removal: VersionRemoval): Promise<Removed> {
  let last: Removed | undefined;
  const { committer } = parts;
  const seal = sealOf(removal.seal, ({ records }: Removed) => versionsOf(records));
  return commitLoop<Removed>({ committer, seal }, async (uncertain) => {
    const { checks, writes, ...planned } = await planRemoval(parts, removal);
    if (planned.records.length === 0) {
      return { kind: 'done', result: (uncertain ? last : undefined) ?? planned };
    }
    last = planned;
    return { kind: 'commit', checks, writes, result: last };
  });
}

/** The selection, evaluated now. */
export async function planRemoval(
  { versions }: Pick<RemovalParts, 'versions'>,
  removal: VersionRemoval,
): Promise<PlannedRemoval> {
  const table = await removal.table();
  const { id, kind } = table.content;
  const chain = (await removal.chain?.(table.content)) ?? MAIN_CHAIN;
  const head = await versions.head(id, chain);
  const retained = await removal.retained(table.content, chain);
  const candidates = removal.candidates?.(table.content, chain) ?? versions.madeOn(id, chain.key);
  const records = (await candidates).filter(
    ({ version }) =>
      removal.selected(version) &&
      version !== head?.content.version &&
      !retained.versions.has(version),
  );
  const needsWaste = kind === 'engine' && records.length > 0;
  const waste = needsWaste ? wasteWrites(table.content, records) : [];
  const keys = records.map(({ version }) => versionKey(id, chain.key, version));
  return {
    table: table.content,
    records,
    waste: waste.map(({ key }) => key),
    checks: [unchanged(table), headCheck(id, head, chain.key), ...retained.checks],
    writes: [...keys.map((key) => ({ key, value: null })), ...waste],
  };
}
