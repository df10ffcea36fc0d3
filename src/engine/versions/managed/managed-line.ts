import type { Storage } from '../../../storage/storage.ts';
import { randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import { CatalogError } from '../../../protocol/errors.ts';
import type { Check, Write } from '../../../store/store.ts';
import { encodeBranch } from '../../catalog/records/records-codec.ts';
import type { Committer } from '../../catalog/records/commit-loop.ts';
import { branchKey, headKey, versionKey } from '../../catalog/records/keys.ts';
import { absent, unchanged } from '../../catalog/records/reader.ts';
import type { BranchRecord, Stored, TableRecord, VersionRecord } from '../../format/records.ts';
import { lanceVersions } from '../../format/lance/versions.ts';
import { branchNotFound, branchChain, type Branches } from '../lines/branches.ts';
import { checkBranchName } from '../../format/branch-name.ts';
import { MAIN, MAIN_CHAIN, type Chain } from '../../format/chain.ts';
import { headCheck, type VersionStore } from '../lines/version-store.ts';
import { branchRefs, type BranchRef } from './lance-refs.ts';
import { settledBranch } from './managed-branches.ts';
import { fileExists, isHeld } from './held-manifests.ts';
import { requireRecorded } from './manifest-identity.ts';
import type { StagedPlace } from './place.ts';
import { finishVersion, locationOf } from './managed-versions.ts';

/** A line of versions of a Lance table that the next one is to be added to. */
export interface ManagedLine {
  readonly chain: Chain;
  readonly head: Stored<VersionRecord> | undefined;
  /** The versions that may come next; null for any. */
  readonly next: readonly bigint[] | null;
  readonly checks: readonly Check[];
  /** Origin of a new branch: the line's key, and its version if known. */
  readonly origin?: { readonly key: string; readonly version?: bigint };
  /** Writes that create the line, given its first version. */
  readonly writes: (first: VersionRecord) => readonly Write[];
}

/** Dependencies of the search for lines. */
export interface LineParts {
  readonly storage: Storage;
  readonly committer: Committer;
  readonly versions: VersionStore;
  readonly branches: Branches;
  /** Folders of the gateway itself, of which nothing is removed. */
  readonly retained: readonly string[];
}

/** The version that a branch begins with. */
export type BranchStart = Pick<BranchRef, 'parentBranch' | 'parentVersion'>;

/** A line by its name, and its origin if the gateway writes the file of the branch. */
interface NamedLine {
  readonly branch: string;
  readonly origin?: BranchStart | undefined;
}

/** The line of versions of a name, as it is now. @throws CatalogError TableBranchNotFound, InvalidInput. */
export async function managedLine(
  parts: LineParts,
  table: TableRecord,
  { branch, origin }: NamedLine,
  place: StagedPlace,
): Promise<ManagedLine> {
  if (branch === MAIN) return knownLine(parts, table, MAIN_CHAIN);
  checkBranchName(branch);
  if (table.kind === 'declared') throw branchNotFound(branch);
  const stored = await settledBranch(parts, table, branch);
  const ref = (await branchRefs(parts.storage, locationOf(table))).get(branch);
  if (stored !== undefined) {
    const line = await knownLine(parts, table, { ...branchChain(branch, stored), lineage: [] });
    if (ref !== undefined) return line;
    // Its client has deleted the branch, if nothing of it is there any more.
    if (await isThere(parts.storage, table, line.head)) throw zombie(branch);
    return newLine(
      parts,
      table,
      { branch, origin: origin ?? ref, isOurs: origin !== undefined },
      { stored, line },
    );
  }
  const left = await lanceVersions(parts.storage, join(locationOf(table), dirname(place.folder)));
  if (left.length > 0) throw zombie(branch);
  return newLine(parts, table, { branch, origin: origin ?? ref, isOurs: origin !== undefined });
}

async function knownLine(
  { storage, versions, committer }: LineParts,
  table: TableRecord,
  chain: Chain,
): Promise<ManagedLine> {
  const head = await versions.head(table.id, chain);
  // Nothing is built on a version that could still be lost with the store.
  if (head !== undefined && (await isUnfinished(storage, table, head))) {
    await finishVersion(storage, committer, locationOf(table), head);
  }
  if (head !== undefined) await requireRecorded(storage, locationOf(table), head.content);
  return {
    chain,
    head,
    next: [(head?.content.version ?? 0n) + 1n],
    checks: [headCheck(table.id, head, chain.key), ...chain.checks],
    writes: () => [],
  };
}

async function isUnfinished(
  storage: Storage,
  table: TableRecord,
  { content }: Stored<VersionRecord>,
) {
  const { manifest, staging } = content;
  return manifest !== staging && (await isHeld(storage, locationOf(table), staging));
}

interface NewBranch {
  readonly branch: string;
  readonly origin: BranchStart | undefined;
  /** Whether the gateway writes the file of the branch. */
  readonly isOurs: boolean;
}

/** Records of a removed branch of the same name. */
interface RemovedBranch {
  readonly stored: Stored<BranchRecord>;
  readonly line: ManagedLine;
}

/**
 * A branch begins with its first commit. Lance writes down what it came from only
 * afterwards (wire contract, section 10.8); the copy that it begins with has the
 * number of the version that it came from.
 */
async function newLine(
  { branches, versions }: LineParts,
  table: TableRecord,
  { branch, origin, isOurs }: NewBranch,
  removed?: RemovedBranch,
): Promise<ManagedLine> {
  const id = randomUUID();
  const key = branchKey(table.id, branch);
  const parent = origin?.parentBranch ?? MAIN;
  const old = removed === undefined ? [] : await remnants(versions, table, removed);
  const above =
    (parent === MAIN ? MAIN : (await branches.find(table.id, parent))?.content.id) ?? MAIN;
  const recordOf = (first: VersionRecord): BranchRecord => ({
    id,
    lineage: [{ branch: parent, key: above, version: origin?.parentVersion ?? first.version }],
    manifestBytes: first.manifestBytes,
    createdMillis: first.timestampMillis,
    ...(isOurs && { pending: 'write' }),
  });
  return {
    chain: { branch, key: id, lineage: [], checks: [] },
    head: undefined,
    next: origin === undefined ? null : [origin.parentVersion, origin.parentVersion + 1n],
    checks: [removed === undefined ? absent(key) : unchanged(removed.stored)],
    origin: { key: above, ...(origin !== undefined && { version: origin.parentVersion }) },
    writes: (first) => [{ key, value: encodeBranch(recordOf(first)) }, ...old],
  };
}

/** The records of a branch that is gone. */
async function remnants(
  versions: VersionStore,
  { id }: TableRecord,
  { stored }: RemovedBranch,
): Promise<readonly Write[]> {
  const chain = stored.content.id;
  const records = await versions.madeOn(id, chain);
  return [headKey(id, chain), ...records.map(({ version }) => versionKey(id, chain, version))].map(
    (key) => ({ key, value: null }),
  );
}

async function isThere(
  storage: Storage,
  table: TableRecord,
  head: Stored<VersionRecord> | undefined,
): Promise<boolean> {
  if (head === undefined) return false;
  const { manifest, staging } = head.content;
  const location = locationOf(table);
  return (
    (await fileExists(storage, join(location, manifest))) ||
    (await fileExists(storage, join(location, staging)))
  );
}

function zombie(branch: string): CatalogError {
  return new CatalogError(
    'TableBranchNotFound',
    `the table has no branch ${JSON.stringify(branch)}, but versions of one are left: delete them first`,
  );
}
