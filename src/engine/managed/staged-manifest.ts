import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { LanceManifest } from '../lance/lance-manifest.ts';
import { LanceManifestError } from '../lance/lance-message.ts';
import { readManifestFile } from '../lance/manifest-file.ts';
import { isAbsent, ownership, refused, type StagedPlace } from './place.ts';

/** A manifest that a client has staged, and that is one. */
export interface StagedManifest {
  readonly manifest: LanceManifest;
  /** The size of its file. */
  readonly bytes: number;
}

/** What a request says of it. */
export interface ManifestClaim {
  readonly version: bigint;
  readonly manifestPath: string;
  readonly manifestSize: bigint | null;
}

/**
 * Reads a staged manifest.
 * @throws CatalogError InvalidInput when there is none, or when it is not the one
 * that the request says it is.
 */
export async function readStaged(
  location: string,
  place: StagedPlace,
  { version, manifestPath, manifestSize }: ManifestClaim,
): Promise<StagedManifest> {
  const path = join(location, place.staging);
  const whose = await ownership(location, place.staging);
  if (whose === 'absent') throw refused(manifestPath, 'does not exist');
  if (whose === 'linked') throw refused(manifestPath, 'leads through a link');
  if (!statSync(path).isFile()) throw refused(manifestPath, 'is not a file');
  const { manifest, bytes } = await read(path, manifestPath);
  if (manifestSize !== null && manifestSize !== BigInt(bytes)) {
    throw refused(manifestPath, `has ${bytes} bytes, not ${manifestSize} as manifest_size says`);
  }
  if (manifest.version !== BigInt.asUintN(64, version)) {
    throw refused(
      manifestPath,
      `holds the manifest of version ${manifest.version}, not of ${BigInt.asUintN(64, version)}`,
    );
  }
  return { manifest, bytes };
}

async function read(path: string, manifestPath: string): Promise<StagedManifest> {
  try {
    return await readManifestFile(path);
  } catch (error) {
    if (isAbsent(error)) throw refused(manifestPath, 'does not exist');
    if (!(error instanceof LanceManifestError)) throw error;
    throw refused(manifestPath, `is not a Lance manifest: ${error.message}`);
  }
}
