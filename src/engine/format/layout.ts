import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { MAIN } from './chain.ts';
import type { Storage } from '../../storage/storage.ts';

/**
 * Names inside a table's folder: `data/` holds the data files, `deletions/` the lists of deleted rows,
 * `indices/` a folder for each index, `versions/` one manifest per version and `fragments/` the lists
 * of fragments that manifests share. The manifests of a branch lie in `tree/<branch id>/versions/`; its
 * other files lie with those of the table. `detached.seals` is there only in the folder of a table
 * with files from before seals.
 */
export const DATA = 'data';
export const VERSIONS = 'versions';
export const DELETIONS = 'deletions';
export const TREE = 'tree';
export const INDICES = 'indices';
export const FRAGMENTS = 'fragments';
export const DETACHED_SEALS = 'detached.seals';

/**
 * Checks that a path in a manifest stays inside the table's folder.
 * @throws Error if it does not.
 */
export function ownPath(path: string): string {
  if (!path.startsWith('/') && !path.includes('..')) return path;
  throw new Error(`the manifest names ${JSON.stringify(path)}, outside of the table's folder`);
}

/** A new path for a data file, relative to the table's folder. */
export function newDataFile(): string {
  return join(DATA, `${randomUUID()}.arrow`);
}

/** A new path for an index file, relative to the table's folder. */
export function newIndexFile(index: string): string {
  return join(INDICES, index, `${randomUUID()}.arrow`);
}

/** A new path for a list of fragments, relative to the table's folder. */
export function newFragmentList(): string {
  return join(FRAGMENTS, `${randomUUID()}.arrow`);
}

/** The folder of a branch, relative to the table's. */
export function branchFolder(chain: string): string {
  return join(TREE, chain);
}

/**
 * The final path of a version's manifest, relative to the table's folder.
 * @param chain The line that the version is made on: `main`, or a branch's id.
 */
export function manifestName(version: bigint, chain: string = MAIN): string {
  const folder = chain === MAIN ? VERSIONS : join(branchFolder(chain), VERSIONS);
  return join(folder, `${version.toString().padStart(20, '0')}.arrow`);
}

/** A new path for a manifest before its commit. Only that commit reads it. */
export function stagingName(version: bigint, chain: string = MAIN): string {
  return `${manifestName(version, chain)}-${randomUUID()}`;
}

/** Creates the folder of a branch's manifests durably. */
export async function makeBranchFolder(
  storage: Storage,
  tableFolder: string,
  id: string,
): Promise<void> {
  await storage.folders?.make(join(tableFolder, branchFolder(id), VERSIONS));
}

/** Removes the folder of a branch unless it holds files that may still be needed. */
export async function removeBranchFolder(
  storage: Storage,
  tableFolder: string,
  id: string,
): Promise<void> {
  const folder = join(tableFolder, branchFolder(id));
  for (const empty of [join(folder, VERSIONS), folder]) {
    await storage.folders?.removeIfEmpty(empty);
  }
}
