import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { versionNotFound } from '../table/version-refusals.ts';

/** The folder of a Lance table in which each version has a manifest. */
export const LANCE_VERSIONS = '_versions';

/** A version of a Lance table: its number, and the path of its manifest. */
export interface LanceVersion {
  readonly version: bigint;
  readonly manifest: string;
}

/** `<version>.manifest`, or 20 digits that count down from 2^64 - 1, so that the newest comes first. */
const MANIFEST = /^(\d{1,20})\.manifest$/;
const COUNTED_DOWN = 20;
const LAST = 2n ** 64n - 1n;

/**
 * The versions that a Lance table has by the names of its manifests (wire
 * contract, section 10.4), in ascending order; none of a folder that holds no
 * such table.
 */
export async function lanceVersions(folder: string): Promise<readonly LanceVersion[]> {
  const manifests = join(folder, LANCE_VERSIONS);
  const found = (await namesIn(manifests)).flatMap((name) => {
    const version = versionOf(name);
    return version === undefined ? [] : [{ version, manifest: join(manifests, name) }];
  });
  return found.toSorted((left, right) => (left.version < right.version ? -1 : 1));
}

/**
 * The newest version of a Lance table, or the one asked for; undefined for the
 * newest of a table that has none.
 * @throws CatalogError TableVersionNotFound.
 */
export async function lanceVersion(
  location: string | null,
  version: bigint | undefined,
): Promise<LanceVersion | undefined> {
  const versions = location === null ? [] : await lanceVersions(location);
  if (version === undefined) return versions.at(-1);
  const found = versions.find((one) => one.version === version);
  if (found !== undefined) return found;
  throw versionNotFound(version);
}

/** The version that a file name stands for. Staged and detached manifests have other names. */
function versionOf(name: string): bigint | undefined {
  const digits = MANIFEST.exec(name)?.[1];
  if (digits === undefined) return undefined;
  const number = BigInt(digits);
  if (digits.length < COUNTED_DOWN) return number;
  return number <= LAST ? LAST - number : undefined;
}

async function namesIn(folder: string): Promise<readonly string[]> {
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
