import { CatalogError } from '../../protocol/errors.ts';
import { commitLoop } from '../catalog/records/commit-loop.ts';
import { headKey, versionKey } from '../catalog/records/keys.ts';
import { unchanged } from '../catalog/records/reader.ts';
import type { BranchRecord, Stored, TableRecord } from '../format/records.ts';
import type { Seal } from '../catalog/records/seal.ts';
import { encodeBranch } from '../catalog/records/records-codec.ts';
import { settledBranch } from './managed/managed-branches.ts';
import { branchNotFound, type Branches } from './lines/branches.ts';
import { removeBranchFolder } from '../format/layout.ts';
import { MAIN } from '../format/chain.ts';
import type { Tags } from './lines/tags.ts';
import { wasteWrites } from './leases/waste-record.ts';
import { headCheck } from './lines/version-store.ts';
import type { RemovalParts } from './version-removal.ts';

/** A branch that is to go. */
interface BranchRemoval {
  readonly name: string;
  /** Reads the table's record; called before each attempt. */
  readonly table: () => Promise<Stored<TableRecord>>;
  readonly seal?: Seal<unknown> | undefined;
}

/** Dependencies of a branch removal. */
interface BranchRemovalParts extends RemovalParts {
  readonly branches: Branches;
  readonly tags: Tags;
}

interface Removed {
  readonly table: TableRecord;
  readonly branch: BranchRecord;
  /** The keys of what was written down for the removal of its versions' files. */
  readonly waste: readonly string[];
}

/**
 * Removes a branch: its records in one commit, and then the files that nothing
 * else needs, once nothing that is in progress can be reading them. Of a branch of
 * a Lance table, the record stays until its files are gone, so that the next reader
 * finishes what a gateway left.
 * @throws CatalogError TableBranchNotFound, InvalidInput for the main one,
 * InvalidTableState for one that another came from or of which a tag names a version.
 */
export async function removeBranch(
  parts: BranchRemovalParts,
  removal: BranchRemoval,
): Promise<void> {
  const { table, branch, waste } = await commitRemoval(parts, removal);
  if (table.kind !== 'engine') {
    await settledBranch(parts, table, removal.name);
    return;
  }
  if (waste.length > 0) await parts.waste.removeSoon(table, waste);
  await removeBranchFolder(parts.storage, parts.folder(table), branch.id);
}

async function commitRemoval(
  { branches, tags, versions, committer }: BranchRemovalParts,
  { name, table, seal }: BranchRemoval,
): Promise<Removed> {
  let last: Removed | undefined;
  if (name === MAIN) throw needed(name, 'it is that which every table begins with', 'InvalidInput');
  return commitLoop<Removed>({ committer, seal }, async (uncertain) => {
    const current = await table();
    const { id } = current.content;
    const stored = await branches.find(id, name);
    if (uncertain && last !== undefined && stored?.content.id !== last.branch.id) {
      return { kind: 'done', result: last };
    }
    if (stored === undefined) throw branchNotFound(name);
    const others = await branches.all(id);
    const child = others.branches.find(({ branch }) => branch.lineage[0]?.branch === name);
    if (child !== undefined)
      throw needed(name, `the branch ${JSON.stringify(child.name)} came from it`);
    const all = await tags.all(current.content);
    const tag = all.tags.find((one) => one.tag.branch === name);
    if (tag !== undefined) {
      throw needed(
        name,
        `the tag ${JSON.stringify(tag.name)} names its version ${tag.tag.version}`,
      );
    }
    const chain = stored.content.id;
    const head = await versions.head(id, { branch: name, key: chain, lineage: [], checks: [] });
    const records = await versions.madeOn(id, chain);
    const isOurs = current.content.kind === 'engine';
    const waste = isOurs ? wasteWrites(current.content, records) : [];
    last = {
      table: current.content,
      branch: stored.content,
      waste: waste.map((write) => write.key),
    };
    return {
      kind: 'commit',
      checks: [unchanged(current), headCheck(id, head, chain), ...others.checks, ...all.checks],
      writes: [
        { key: stored.key, value: isOurs ? null : removalOf(stored.content) },
        { key: headKey(id, chain), value: null },
        ...records.map(({ version }) => ({ key: versionKey(id, chain, version), value: null })),
        ...waste,
      ],
      result: last,
    };
  });
}

/** The record of a branch whose files in the folder of a Lance table are to go. */
function removalOf(branch: BranchRecord): Uint8Array {
  return encodeBranch({ ...branch, pending: 'removal' });
}

function needed(
  name: string,
  why: string,
  error: 'InvalidInput' | 'InvalidTableState' = 'InvalidTableState',
): CatalogError {
  return new CatalogError(error, `the branch ${JSON.stringify(name)} cannot be deleted: ${why}`);
}
