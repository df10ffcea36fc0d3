import { CatalogError } from '../../protocol/errors.ts';
import { commitLoop } from '../catalog/commit-loop.ts';
import { headKey, versionKey } from '../catalog/keys.ts';
import { unchanged } from '../catalog/reader.ts';
import type { BranchRecord, Stored, TableRecord, VersionRecord } from '../catalog/records.ts';
import { branchNotFound, type Branches } from './branches.ts';
import { removeBranchFolder } from './branch-folder.ts';
import { MAIN } from './chain.ts';
import type { Tags } from './tags.ts';
import { headCheck } from './version-commit.ts';
import { removeFiles, type RemovalParts } from './version-removal.ts';

/** A branch that is to go. */
export interface BranchRemoval {
  readonly name: string;
  /** Reads the table's record; asked before each attempt. */
  readonly table: () => Promise<Stored<TableRecord>>;
}

/** What the removal of a branch works with. */
export interface BranchRemovalParts extends RemovalParts {
  readonly branches: Branches;
  readonly tags: Tags;
}

interface Removed {
  readonly table: TableRecord;
  readonly branch: BranchRecord;
  readonly records: readonly VersionRecord[];
}

/**
 * Removes a branch: its records in one commit, and then the files that nothing
 * else needs. What a crash leaves of these, no record names.
 * @throws CatalogError TableBranchNotFound, InvalidInput for the main one,
 * InvalidTableState for one that another came from or of which a tag names a version.
 */
export async function removeBranch(
  parts: BranchRemovalParts,
  removal: BranchRemoval,
): Promise<void> {
  const { table, branch, records } = await commitRemoval(parts, removal);
  await removeFiles(parts, table, records);
  await removeBranchFolder(parts.folder(table), branch.id);
}

async function commitRemoval(
  { branches, tags, versions, committer }: BranchRemovalParts,
  { name, table }: BranchRemoval,
): Promise<Removed> {
  let last: Removed | undefined;
  if (name === MAIN) throw needed(name, 'it is that which every table begins with', 'InvalidInput');
  return commitLoop<Removed>(committer, async (doubt) => {
    const current = await table();
    const { id } = current.content;
    const stored = await branches.find(id, name);
    if (doubt && last !== undefined && stored?.content.id !== last.branch.id) {
      return { kind: 'done', result: last };
    }
    if (stored === undefined) throw branchNotFound(name);
    const others = await branches.all(id);
    const child = others.branches.find(({ branch }) => branch.lineage[0]?.branch === name);
    if (child !== undefined)
      throw needed(name, `the branch ${JSON.stringify(child.name)} came from it`);
    const all = await tags.all(id);
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
    last = { table: current.content, branch: stored.content, records };
    return {
      kind: 'commit',
      checks: [unchanged(current), headCheck(id, head, chain), ...others.checks, ...all.checks],
      writes: [
        { key: stored.key, value: null },
        { key: headKey(id, chain), value: null },
        ...records.map(({ version }) => ({ key: versionKey(id, chain, version), value: null })),
      ],
      result: last,
    };
  });
}

function needed(
  name: string,
  why: string,
  error: 'InvalidInput' | 'InvalidTableState' = 'InvalidTableState',
): CatalogError {
  return new CatalogError(error, `the branch ${JSON.stringify(name)} cannot be deleted: ${why}`);
}
