import { dirname, join } from 'node:path';
import type { VersionRecord } from '../catalog/records.ts';
import { LanceManifestError } from '../lance/lance-message.ts';
import { readManifestFile } from '../lance/manifest-file.ts';
import { lanceVersions, type LanceVersion } from '../lance/versions.ts';
import { versionsFolder } from './place.ts';
import { recordOfFile } from './version-of-file.ts';

/**
 * The versions of a line of a Lance table that follow one without a gap: those that have
 * a manifest under its final name, which is theirs and can be read.
 * @param head The version that they follow.
 */
export async function versionsBeyond(
  location: string,
  branch: string,
  head: bigint,
): Promise<readonly VersionRecord[]> {
  const found: VersionRecord[] = [];
  const folder = join(location, dirname(versionsFolder(branch)));
  for (const one of await lanceVersions(folder)) {
    if (one.version <= head + BigInt(found.length)) continue;
    const isNext = one.version === head + BigInt(found.length) + 1n;
    if (!isNext || !(await isSound(one))) break;
    found.push(await recordOfFile(location, one));
  }
  return found;
}

async function isSound({ version, manifest: path }: LanceVersion): Promise<boolean> {
  try {
    return (await readManifestFile(path)).manifest.version === version;
  } catch (error) {
    if (error instanceof LanceManifestError) return false;
    throw error;
  }
}
