import { isAbsent } from '../../../storage/storage-error.ts';
import type { Storage } from '../../../storage/storage.ts';
import { join } from 'node:path';
import { isDetached, parseVersionFile } from './version-file.ts';

/** Folder of the manifests of a Lance table or branch. */
export const LANCE_VERSIONS = '_versions';
/** Folders of data files and of deletion files. */
export const LANCE_DATA = 'data';
export const LANCE_DELETIONS = '_deletions';
/** Folder of transactions, which describe commits to other writers. */
export const LANCE_TRANSACTIONS = '_transactions';
/** Folders of the files of tags and branches. */
export const LANCE_REFS = ['_refs/tags', '_refs/branches'] as const;
/** Folder of indices: a folder for each segment. */
export const LANCE_INDICES = '_indices';

/** A version of a Lance table: its number, and the path of its manifest. */
export interface LanceVersion {
  readonly version: bigint;
  readonly manifest: string;
}

/**
 * Every version with a manifest in a folder, in no order, including detached ones.
 * @param folder Folder of the table or branch.
 */
export async function lanceManifests(
  storage: Storage,
  folder: string,
): Promise<readonly LanceVersion[]> {
  const manifests = join(folder, LANCE_VERSIONS);
  return (await namesInFolder(storage, manifests)).flatMap((name) => {
    const file = parseVersionFile(name);
    if (file === undefined || file.staging !== '') return [];
    return [{ version: file.version, manifest: join(manifests, name) }];
  });
}

/**
 * Versions of a Lance table from the names of its manifests (wire contract, section 10.4),
 * ascending; empty for a folder without a table. Staged and detached versions are left out.
 * @param folder Folder of the table or branch.
 */
export async function lanceVersions(
  storage: Storage,
  folder: string,
): Promise<readonly LanceVersion[]> {
  const found = (await lanceManifests(storage, folder)).filter(
    ({ version }) => !isDetached(version),
  );
  return found.toSorted((left, right) => (left.version < right.version ? -1 : 1));
}

/** Names in a folder; empty if it is missing. */
export async function namesInFolder(storage: Storage, folder: string): Promise<readonly string[]> {
  try {
    return (await storage.names(folder)) ?? [];
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
}
