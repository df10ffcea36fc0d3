import { stat } from 'node:fs/promises';
import { relative } from 'node:path';
import type { VersionRecord } from '../catalog/records.ts';
import { LanceManifestError } from '../lance/lance-message.ts';
import { readManifestFile } from '../lance/manifest-file.ts';
import type { LanceVersion } from '../lance/versions.ts';

/**
 * The record of a version that has its final name and that the catalog does not know.
 * Its time is that of its file where its manifest does not say it, or cannot be read.
 * @param location The folder of its table.
 */
export async function recordOfFile(
  location: string,
  { version, manifest: path }: LanceVersion,
): Promise<VersionRecord> {
  const name = relative(location, path);
  const file = await stat(path);
  return {
    version,
    timestampMillis: (await timeOf(path)) ?? Math.floor(file.mtimeMs),
    manifest: name,
    staging: name,
    manifestBytes: file.size,
    metadata: {},
  };
}

async function timeOf(path: string): Promise<number | null> {
  try {
    return (await readManifestFile(path)).manifest.timestampMillis;
  } catch (error) {
    if (error instanceof LanceManifestError) return null;
    throw error;
  }
}
