import { dirname, join, relative } from 'node:path';
import { CatalogError } from '../../../protocol/errors.ts';
import { Flushes } from '../../../storage/flushes.ts';
import type { VersionRecord } from '../../format/records.ts';
import { isObjectKey } from '../../../storage/object-key.ts';
import { isAbsent, StorageError } from '../../../storage/storage-error.ts';
import { discardAll } from '../../../storage/discard-all.ts';
import type { Storage } from '../../../storage/storage.ts';
import { haveSameBytes } from '../../format/lance/plain-file.ts';
import { isHeld, isOwn, ManifestTaken, place, rememberFinished } from './held-manifests.ts';
import { manifestDigest } from './manifest-identity.ts';
import { pathIn } from './place.ts';
import { LanceManifestError } from '../../format/lance/lance-message.ts';
import { readManifestFile } from '../../format/lance/manifest-file.ts';
import type { LanceVersion } from '../../format/lance/versions.ts';

type Names = Pick<VersionRecord, 'manifest' | 'staging' | 'claimed'>;

/**
 * Gives the manifest of a committed version its final name, durably; does
 * nothing where it has it alone. Other bytes under that name are never overwritten.
 * @param settle Sees to it that the journal has the version, before its other names
 * go: while it has those, that is not certain. Absent where it is.
 * @param isFinal Whether a manifest without other names is there.
 * @returns Whether the manifest is there: Lance clients remove old ones on their own.
 * @throws CatalogError Internal when other bytes have the name.
 */
export async function finaliseManifest(
  storage: Storage,
  location: string,
  names: Names,
  settle?: () => Promise<void>,
  isFinal = isOwn,
): Promise<boolean> {
  const { manifest, staging } = names;
  // The versions that a table was registered with never had another name.
  if (manifest === staging || !(await isHeld(storage, location, staging)))
    return isFinal(storage, location, manifest);
  await settle?.();
  const isThere = await nameManifest(storage, location, names).catch((error: unknown) => {
    throw error instanceof ManifestTaken ? taken(names) : error;
  });
  if (isThere) await removeOtherNames(storage, location, names);
  return isThere;
}

function taken({ manifest }: Names): CatalogError {
  return new CatalogError(
    'Internal',
    `${manifest} of the table is not the manifest that was committed: move it away, and the catalog puts its own there. \`arrowgate catalog verify\` names what is damaged`,
  );
}

/** Whether the manifest of a committed version is there, under its final name or the one before. */
export async function hasManifest(
  storage: Storage,
  location: string,
  names: Names,
): Promise<boolean> {
  return (
    (await isOwn(storage, location, names.manifest)) || isOwn(storage, location, names.staging)
  );
}

/** Gives the manifest of a version that the store has its final name beside the others, durably. The same answer and faults. */
export async function nameManifest(
  storage: Storage,
  location: string,
  { manifest, staging }: Names,
): Promise<boolean> {
  // An object is read where it is there; of a file, links are refused before.
  const isThere = isObjectKey(location) || (await isOwn(storage, location, staging));
  if (manifest === staging || !isThere) return isOwn(storage, location, manifest);
  try {
    await place(storage, pathIn(location, staging), pathIn(location, manifest));
    return true;
  } catch (error) {
    // Somebody has finished it meanwhile: then the staging name is gone.
    if (isAbsent(error)) return isOwn(storage, location, manifest);
    throw error;
  }
}

/** Removes the other names of a manifest: the journal has its version. */
export async function removeOtherNames(
  storage: Storage,
  location: string,
  { manifest, staging, claimed }: Names,
): Promise<void> {
  if (manifest === staging) return;
  const names = new Set([staging, claimed ?? staging]);
  const keys = [...names].map((name) => pathIn(location, name));
  await discardAll(storage, keys);
  if (isObjectKey(location)) rememberFinished(location, staging);
}

/** Removes the manifests of versions whose records are gone. */
export async function removeManifests(
  storage: Storage,
  location: string,
  records: readonly Pick<VersionRecord, 'manifest' | 'staging'>[],
): Promise<void> {
  const names = new Set(records.flatMap(({ manifest, staging }) => [manifest, staging]));
  for (const name of names) {
    if ((await storage.ownership(location, name)) === 'own')
      await storage.remove(join(location, name));
  }
}

/** Puts manifests that already have their final names on stable storage, with their names. */
export async function syncManifests(
  storage: Storage,
  location: string,
  records: readonly Pick<VersionRecord, 'manifest'>[],
): Promise<void> {
  const flushes = new Flushes();
  const folders = new Set(records.map(({ manifest }) => dirname(pathIn(location, manifest))));
  for (const { manifest } of records) flushes.add(syncFile(storage, pathIn(location, manifest)));
  for (const folder of folders) flushes.add(storage.flush(folder));
  await flushes.settled();
}

async function syncFile(storage: Storage, path: string): Promise<void> {
  const file = await storage.open(path, 'all');
  try {
    await file.sync();
  } finally {
    file.close();
  }
}

/** Whether two files of a table hold the same bytes; not when one is missing. */
export async function sameBytes(
  storage: Storage,
  location: string,
  one: string,
  other: string,
): Promise<boolean> {
  try {
    return await haveSameBytes(storage, join(location, one), join(location, other));
  } catch (error) {
    if (isAbsent(error)) return false;
    throw error;
  }
}

/**
 * The record of a version that has its final name and that the catalog does not know.
 * Its time is that of its file where its manifest does not say it, or cannot be read.
 * @param location The folder of its table.
 */
export async function recordOfFile(
  storage: Storage,
  location: string,
  { version, manifest: path }: LanceVersion,
): Promise<VersionRecord> {
  const name = relative(location, path);
  const stat = await storage.stat(path);
  if (stat === undefined) throw new StorageError('ENOENT', `there is no manifest ${path}`);
  return {
    version,
    timestampMillis: (await timeOf(storage, path)) ?? Math.floor(stat.writtenMillis),
    manifest: name,
    staging: name,
    manifestBytes: stat.bytes,
    metadata: {},
  };
}

/** The same of a version that was written without the catalog, and may be replaced so. */
export async function recordOfExternal(
  storage: Storage,
  location: string,
  version: LanceVersion,
): Promise<VersionRecord> {
  const digest = await manifestDigest(storage, version.manifest);
  const record = await recordOfFile(storage, location, version);
  return digest === undefined ? record : { ...record, digest };
}

async function timeOf(storage: Storage, path: string): Promise<number | null> {
  try {
    return (await readManifestFile(storage, path)).manifest.timestampMillis;
  } catch (error) {
    if (error instanceof LanceManifestError) return null;
    throw error;
  }
}
