import { statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { CatalogError } from '../../../protocol/errors.ts';
import { FileDescriptor } from '../../../storage/file-descriptor.ts';
import { Flushes } from '../../../storage/flushes.ts';
import type { VersionRecord } from '../../format/records.ts';
import { createDurable, linkDurable, removeIfPresent } from '../../../storage/durable-file.ts';
import { syncFolder } from '../../../storage/folder.ts';
import { removeFile } from '../../../storage/tree.ts';
import { haveSameBytes, readPlain } from '../../format/lance/plain-file.ts';
import { manifestDigest } from './manifest-identity.ts';
import { isAbsent, ownership, within } from './place.ts';
import { stat } from 'node:fs/promises';
import { LanceManifestError } from '../../format/lance/lance-message.ts';
import { readManifestFile } from '../../format/lance/manifest-file.ts';
import type { LanceVersion } from '../../format/lance/versions.ts';

/** What a file system answers that makes no second names, or none of files that are someone else's. */
const NO_LINKS: ReadonlySet<string> = new Set(['EPERM', 'EACCES', 'ENOTSUP', 'EMLINK', 'ENOSYS']);

/** Rights of a file's mode. */
const MODE_BITS = 0o777;

/** Another manifest has the final name of a version that is recorded. No refusal: the version stays recorded. */
class ManifestTaken extends Error {
  constructor(path: string) {
    super(`${path} exists and is not the manifest that was committed`);
    this.name = 'ManifestTaken';
  }
}

type Names = Pick<VersionRecord, 'manifest' | 'staging' | 'claimed'>;

/**
 * Gives the manifest of a committed version its final name, durably; does
 * nothing where it has it alone. Other bytes under that name are never overwritten.
 * @param settle Sees to it that the journal has the version, before its other names
 * go: while it has those, that is not certain. Absent where it is.
 * @returns Whether the manifest is there: Lance clients remove old ones on their own.
 * @throws CatalogError Internal when other bytes have the name.
 */
export async function finaliseManifest(
  location: string,
  names: Names,
  settle?: () => Promise<void>,
): Promise<boolean> {
  const { manifest, staging } = names;
  // The versions that a table was registered with never had another name.
  if (manifest === staging || !(await isOwn(location, staging))) return isOwn(location, manifest);
  await settle?.();
  const isThere = await nameManifest(location, names).catch((error: unknown) => {
    throw error instanceof ManifestTaken ? taken(names) : error;
  });
  if (isThere) removeOtherNames(location, names);
  return isThere;
}

function taken({ manifest }: Names): CatalogError {
  return new CatalogError(
    'Internal',
    `${manifest} of the table is not the manifest that was committed: move it away, and the catalog puts its own there. \`arrowgate catalog verify\` names what is damaged`,
  );
}

/** Whether the manifest of a committed version is there, under its final name or the one before. */
export async function hasManifest(location: string, names: Names): Promise<boolean> {
  return (await isOwn(location, names.manifest)) || isOwn(location, names.staging);
}

/** Gives the manifest of a version that the store has its final name beside the others, durably. The same answer and faults. */
export async function nameManifest(
  location: string,
  { manifest, staging }: Names,
): Promise<boolean> {
  if (manifest === staging || !(await isOwn(location, staging))) return isOwn(location, manifest);
  try {
    await place(within(location, staging), within(location, manifest));
    return true;
  } catch (error) {
    // Somebody has finished it meanwhile: then the staging name is gone.
    if (isAbsent(error)) return isOwn(location, manifest);
    throw error;
  }
}

/** Removes the other names of a manifest: the journal has its version. */
export function removeOtherNames(location: string, { manifest, staging, claimed }: Names): void {
  if (manifest === staging) return;
  for (const name of [staging, claimed ?? staging]) removeIfPresent(within(location, name));
}

/** Removes the manifests of versions whose records are gone. */
export async function removeManifests(
  location: string,
  records: readonly Pick<VersionRecord, 'manifest' | 'staging'>[],
): Promise<void> {
  const names = new Set(records.flatMap(({ manifest, staging }) => [manifest, staging]));
  for (const name of names) {
    if ((await ownership(location, name)) === 'own') await removeFile(join(location, name));
  }
}

/** @throws CatalogError Internal for what a link has taken the place of. */
async function isOwn(location: string, name: string): Promise<boolean> {
  const whose = await ownership(location, name);
  if (whose !== 'linked') return whose === 'own';
  throw new CatalogError('Internal', `${name} of the table leads through a link`);
}

/** A staged manifest by its name, open, and the second name that it is to get. */
export interface HeldFile {
  readonly file: FileDescriptor;
  readonly staging: string;
  readonly held: string;
}

/**
 * Gives a staged manifest a second name, which is on stable storage after this with
 * its bytes. A client that gets no answer removes what it staged, though its commit
 * may have taken effect; it does not know the second name.
 */
export async function holdStaged(
  location: string,
  { file, staging, held }: HeldFile,
  isFirst: boolean,
): Promise<void> {
  const path = within(location, staging);
  const flushes = new Flushes();
  flushes.add(file.sync());
  flushes.add(place(path, within(location, held)));
  // Nobody has made the names of these folders durable before the first version.
  if (isFirst)
    for (const folder of foldersAbove(dirname(path), location)) flushes.add(syncFolder(folder));
  await flushes.settled();
}

/** Puts manifests that already have their final names on stable storage, with their names. */
export async function syncManifests(
  location: string,
  records: readonly Pick<VersionRecord, 'manifest'>[],
): Promise<void> {
  const flushes = new Flushes();
  const folders = new Set(records.map(({ manifest }) => dirname(within(location, manifest))));
  for (const { manifest } of records) flushes.add(syncFile(within(location, manifest)));
  for (const folder of folders) flushes.add(syncFolder(folder));
  await flushes.settled();
}

async function syncFile(path: string): Promise<void> {
  const file = FileDescriptor.open(path, 'r');
  try {
    await file.sync();
  } finally {
    file.close();
  }
}

/** The folders in which a folder lies, up to the outermost of them. */
function foldersAbove(folder: string, outermost: string): readonly string[] {
  if (folder === outermost) return [];
  const above = dirname(folder);
  return [above, ...foldersAbove(above, outermost)];
}

/** Whether two files of a table hold the same bytes; not when one is missing. */
export async function sameBytes(location: string, one: string, other: string): Promise<boolean> {
  try {
    return await haveSameBytes(join(location, one), join(location, other));
  } catch (error) {
    if (isAbsent(error)) return false;
    throw error;
  }
}

export async function exists(path: string): Promise<boolean> {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    if (isAbsent(error)) return false;
    throw error;
  }
}

async function place(staged: string, path: string): Promise<void> {
  const outcome = await linkDurable(staged, path).catch(async (error: unknown) => {
    if (!NO_LINKS.has(codeOf(error))) throw error;
    // Whoever could read what the client staged can read the copy.
    return createDurable(path, await bytesOf(staged), statSync(staged).mode & MODE_BITS);
  });
  if (outcome === 'created') return;
  if (await haveSameBytes(staged, path)) return;
  throw new ManifestTaken(path);
}

async function bytesOf(staged: string): Promise<Buffer> {
  const bytes = await readPlain(staged, Number.MAX_SAFE_INTEGER);
  if (bytes !== null) return bytes;
  throw new Error(`${staged} is no file any more`);
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

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

/** The same of a version that was written without the catalog, and may be replaced so. */
export async function recordOfExternal(
  location: string,
  version: LanceVersion,
): Promise<VersionRecord> {
  const digest = await manifestDigest(version.manifest);
  const record = await recordOfFile(location, version);
  return digest === undefined ? record : { ...record, digest };
}

async function timeOf(path: string): Promise<number | null> {
  try {
    return (await readManifestFile(path)).manifest.timestampMillis;
  } catch (error) {
    if (error instanceof LanceManifestError) return null;
    throw error;
  }
}
