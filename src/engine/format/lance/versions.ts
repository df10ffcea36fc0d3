import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isDetached, parseVersionFile } from './version-file.ts';

/** The folder of a Lance table, or of one of its branches, in which each version has a manifest. */
export const LANCE_VERSIONS = '_versions';
/** The folders beside it, of data and of lists of deleted rows. */
export const LANCE_DATA = 'data';
export const LANCE_DELETIONS = '_deletions';

/** A version of a Lance table: its number, and the path of its manifest. */
export interface LanceVersion {
  readonly version: bigint;
  readonly manifest: string;
}

/**
 * Every version that a folder has a manifest of, in whatever order: also those
 * that belong to no chain.
 * @param folder That of the table or of a branch.
 */
export async function lanceManifests(folder: string): Promise<readonly LanceVersion[]> {
  const manifests = join(folder, LANCE_VERSIONS);
  return (await namesIn(manifests)).flatMap((name) => {
    const file = parseVersionFile(name);
    if (file === undefined || file.staging !== '') return [];
    return [{ version: file.version, manifest: join(manifests, name) }];
  });
}

/**
 * The versions that a Lance table has by the names of its manifests (wire
 * contract, section 10.4), in ascending order; none of a folder that holds no
 * such table. Versions that are staged or belong to no chain are left out.
 * @param folder That of the table or of a branch.
 */
export async function lanceVersions(folder: string): Promise<readonly LanceVersion[]> {
  const found = (await lanceManifests(folder)).filter(({ version }) => !isDetached(version));
  return found.toSorted((left, right) => (left.version < right.version ? -1 : 1));
}

/** What a folder holds; nothing when there is none. */
export async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isNoFolder(error)) return [];
    throw error;
  }
}

function isNoFolder(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'ENOENT' || code === 'ENOTDIR';
}
