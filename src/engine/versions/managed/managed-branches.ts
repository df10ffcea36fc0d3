import { dirname, join } from 'node:path';
import { CatalogError } from '../../../protocol/errors.ts';
import { itemAt } from '../../base/items.ts';
import { unlessMissing } from '../../../storage/storage-error.ts';
import type { Storage } from '../../../storage/storage.ts';
import { COMMIT_ATTEMPTS, type Committer } from '../../catalog/records/commit-loop.ts';
import { unchanged } from '../../catalog/records/reader.ts';
import { encodeBranch } from '../../catalog/records/records-codec.ts';
import type { BranchRecord, Stored, TableRecord } from '../../format/records.ts';
import {
  LANCE_DATA,
  LANCE_DELETIONS,
  LANCE_INDICES,
  LANCE_TRANSACTIONS,
  LANCE_VERSIONS,
  namesInFolder,
} from '../../format/lance/versions.ts';
import { parseVersionFile } from '../../format/lance/version-file.ts';
import { isRemoved, type Branches, type NamedBranch } from '../lines/branches.ts';
import {
  branchRefs,
  removeBranchRef,
  requireBranchRef,
  tagRefs,
  type BranchRef,
} from './lance-refs.ts';
import { locationOf } from './managed-versions.ts';
import { LANCE_TREE, SET_ASIDE } from './place.ts';

/**
 * Branches with what their clients wrote down of them: what a branch came from is
 * known only after its first commit. One that its client has deleted is left out.
 * @param isLeft Whether anything is left of a branch that nobody wrote down.
 */
export async function withRefs(
  storage: Storage,
  table: TableRecord,
  branches: readonly NamedBranch[],
  isLeft: (name: string) => Promise<boolean>,
): Promise<readonly NamedBranch[]> {
  if (table.kind === 'engine') return branches;
  const refs = await branchRefs(storage, locationOf(table));
  const found: NamedBranch[] = [];
  for (const one of branches) {
    if (refs.has(one.name) || (await isLeft(one.name))) found.push(one);
  }
  return found.map(({ name, branch }) => {
    const ref = refs.get(name);
    if (ref === undefined) return { name, branch };
    const { parentBranch, parentVersion, manifestBytes, createdMillis } = ref;
    const key = branches.find((one) => one.name === parentBranch)?.branch.id ?? '';
    const lineage = [{ branch: parentBranch, key, version: parentVersion }];
    return { name, branch: { ...branch, lineage, manifestBytes, createdMillis } };
  });
}

interface SettlingParts {
  readonly storage: Storage;
  readonly committer: Committer;
  readonly branches: Pick<Branches, 'record'>;
  /** Folders of the gateway itself, of which nothing is removed. */
  readonly retained: readonly string[];
}

/**
 * The record of a branch, once nothing is pending any more. If a gateway ended before the file of a branch that
 * it began was there, the file is written: Lance clients know branches by their files. If it ended before the
 * files of a branch that it removed were gone, they are removed, and then the record.
 */
export async function settledBranch(
  parts: SettlingParts,
  table: TableRecord,
  name: string,
): Promise<Stored<BranchRecord> | undefined> {
  for (let attempt = 0; attempt < COMMIT_ATTEMPTS; attempt++) {
    const stored = await parts.branches.record(table.id, name);
    if (stored?.content.pending === undefined) return stored;
    if (isRemoved(stored.content)) await finishRemoval(parts, table, name, stored);
    else await finishBeginning(parts, table, name, stored);
  }
  const why = `the branch ${JSON.stringify(name)} is changed by others all the time: repeat the request`;
  throw new CatalogError('ConcurrentModification', why);
}

async function finishBeginning(
  { storage, committer, branches }: SettlingParts,
  table: TableRecord,
  name: string,
  stored: Stored<BranchRecord>,
): Promise<void> {
  const { pending: _, ...branch } = stored.content;
  const isWritten = await requireBranchRef(storage, locationOf(table), refOf(name, branch));
  await committer.commit([unchanged(stored)], [{ key: stored.key, value: encodeBranch(branch) }]);
  if (!isWritten || (await branches.record(table.id, name)) !== undefined) return;
  // It was deleted meanwhile, and its file before this one was written.
  await removeBranchRef(storage, locationOf(table), name);
}

/** The file of a branch by its record. */
function refOf(name: string, { lineage, createdMillis, manifestBytes }: BranchRecord): BranchRef {
  const { branch: parentBranch, version: parentVersion } = itemAt(lineage, 0);
  return { name, parentBranch, parentVersion, createdMillis, manifestBytes };
}

/** Removes the files of a branch, and then its record, which reserves the name until they are gone. */
async function finishRemoval(
  { storage, committer, branches, retained }: SettlingParts,
  table: TableRecord,
  name: string,
  stored: Stored<BranchRecord>,
): Promise<void> {
  const location = locationOf(table);
  await removeBranchRef(storage, location, name);
  const found = await branches.record(table.id, name);
  if (found?.content.id !== stored.content.id) {
    // Another gateway has finished the removal. If a new branch has begun since, its file was the one that went.
    if (found === undefined || isRemoved(found.content)) return;
    return void (await requireBranchRef(storage, location, refOf(name, found.content)));
  }
  await removeBranchFiles(storage, location, name, retained);
  await committer.commit([unchanged(stored)], [{ key: stored.key, value: null }]);
}

/**
 * Refuses a branch of a Lance table that something of its clients still needs: a branch
 * that came from it, or a tag.
 * @throws CatalogError InvalidTableState.
 */
export async function requireUnneeded(
  storage: Storage,
  table: TableRecord,
  name: string,
): Promise<void> {
  const location = locationOf(table);
  const child = [...(await branchRefs(storage, location)).values()].find(
    (ref) => ref.parentBranch === name,
  );
  const refs = await tagRefs(storage, location);
  const tagged = refs.find((ref) => ref.tag.branch === name);
  const why =
    child === undefined
      ? tagged && `the tag ${JSON.stringify(tagged.name)} names its version ${tagged.tag.version}`
      : `the branch ${JSON.stringify(child.name)} came from it`;
  if (why === undefined) return;
  const sentence = `the branch ${JSON.stringify(name)} cannot be deleted: ${why}`;
  throw new CatalogError('InvalidTableState', sentence);
}

/** Names that Lance clients create in the folder of a branch; any other entry is another branch. */
const parts: ReadonlySet<string> = new Set([
  LANCE_VERSIONS,
  LANCE_TRANSACTIONS,
  LANCE_DELETIONS,
  LANCE_INDICES,
  '_refs',
  LANCE_DATA,
  SET_ASIDE,
]);

/** Removes the files in the folder of a branch; the folder stays while it holds those of other branches. */
async function removeBranchFiles(
  storage: Storage,
  location: string,
  name: string,
  retained: readonly string[],
): Promise<void> {
  const folder = join(LANCE_TREE, name);
  if ((await storage.ownership(location, folder)) !== 'own') return;
  const path = join(location, folder);
  const holdsOthers = (await namesInFolder(storage, path)).some((one) => !parts.has(one));
  if (!holdsOthers) {
    await storage.removeTree(path, { retained });
    return void (await unlessMissing(storage.flush(dirname(path))));
  }
  const manifests = join(folder, LANCE_VERSIONS);
  if ((await storage.ownership(location, manifests)) !== 'own') return;
  for (const file of await namesInFolder(storage, join(location, manifests))) {
    if (parseVersionFile(file) !== undefined) await storage.remove(join(location, manifests, file));
  }
  await unlessMissing(storage.flush(join(location, manifests)));
}
