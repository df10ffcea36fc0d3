import { dirname } from 'node:path';
import { LRUCache } from 'lru-cache';
import { CatalogError } from '../../../protocol/errors.ts';
import { Flushes } from '../../../storage/flushes.ts';
import { isObjectKey, wireLocation } from '../../../storage/object-key.ts';
import { readUpTo } from '../../../storage/open-object.ts';
import { errorCode } from '../../../storage/storage-error.ts';
import type { OpenObject, Storage } from '../../../storage/storage.ts';
import { haveSameBytes } from '../../format/lance/plain-file.ts';
import { pathIn } from './place.ts';

/** Another manifest has the final name of a version that is recorded. No refusal: the version stays recorded. */
export class ManifestTaken extends Error {
  constructor(path: string) {
    super(`${path} exists and is not the manifest that was committed`);
    this.name = 'ManifestTaken';
  }
}

/** Versions that are known to be finished, at most. */
const KNOWN_FINISHED = 10_000;
/** Bytes of held manifests that are kept until they get their final names. */
const HELD_BYTES = 16 * 2 ** 20;

/** Paths in object stores that manifests were held by, and that are gone for ever: looking for them costs a request. */
const finished = new LRUCache<string, true>({ max: KNOWN_FINISHED });

/** Bytes of manifests that this process holds in object stores, by path: nothing else writes there. */
const heldBytes = new LRUCache<string, Uint8Array>({ maxSize: HELD_BYTES });

/** A staged manifest by its name, open, and the second name that it is to get. */
interface HeldFile {
  readonly file: OpenObject;
  readonly staging: string;
  readonly held: string;
}

/**
 * Gives a staged manifest a second name, which is on stable storage after this with
 * its bytes. A client that gets no answer removes what it staged, though its commit
 * may have taken effect; it does not know the second name.
 */
export async function holdStaged(
  storage: Storage,
  location: string,
  { file, staging, held }: HeldFile,
  isFirst: boolean,
): Promise<void> {
  const path = pathIn(location, staging);
  const flushes = new Flushes();
  flushes.add(file.sync());
  flushes.add(hold(storage, file, path, pathIn(location, held)));
  // Before the first version nobody has flushed the names of these folders.
  if (isFirst)
    for (const folder of foldersAbove(dirname(path), location)) flushes.add(storage.flush(folder));
  await flushes.settled();
}

/** Clients may write to the bucket meanwhile: the bytes that were judged are held, not what the name has now. */
async function hold(
  storage: Storage,
  file: OpenObject,
  staged: string,
  held: string,
): Promise<void> {
  if (!isObjectKey(held)) return place(storage, staged, held);
  const bytes = Buffer.allocUnsafeSlow(file.size());
  await readUpTo(file, bytes, 0).catch((error: unknown) => {
    throw errorCode(error) === 'ESTALE' ? replacedWhile(staged) : error;
  });
  // A commit that was planned again finds what it held before.
  const isTaken = (await storage.putIfAbsent(held, bytes)) === 'exists';
  if (isTaken && !bytes.equals(await storage.read(held))) throw replacedWhile(staged);
  heldBytes.set(held, bytes, { size: Math.max(1, bytes.byteLength) });
}

function replacedWhile(staged: string): CatalogError {
  return new CatalogError(
    'ConcurrentModification',
    `${wireLocation(staged)} was replaced while it was committed: stage it under a name of its own`,
  );
}

/** The folders in which a folder lies, up to the outermost of them. */
function foldersAbove(folder: string, outermost: string): readonly string[] {
  if (folder === outermost) return [];
  const above = dirname(folder);
  return [above, ...foldersAbove(above, outermost)];
}

/** Whether a manifest still has the name that it was held by: its version may be unfinished. */
export async function isHeld(
  storage: Storage,
  location: string,
  staging: string,
): Promise<boolean> {
  const path = pathIn(location, staging);
  if (!isObjectKey(location)) return isOwn(storage, location, staging);
  if (finished.has(path)) return false;
  const isThere = await fileExists(storage, path);
  // Each version is held by a name of its own, once.
  if (!isThere) finished.set(path, true);
  return isThere;
}

/** Nobody has to look again for the name that a finished version was held by. */
export function rememberFinished(location: string, staging: string): void {
  finished.set(pathIn(location, staging), true);
}

/** Whether a file of a table is there. @throws CatalogError Internal for what a link has taken the place of. */
export async function isOwn(storage: Storage, location: string, name: string): Promise<boolean> {
  // An object store has no links, and one request says whether an object is there.
  if (isObjectKey(location)) return fileExists(storage, pathIn(location, name));
  const whose = await storage.ownership(location, name);
  if (whose !== 'linked') return whose === 'own';
  throw new CatalogError('Internal', `${name} of the table leads through a link`);
}

export async function fileExists(storage: Storage, path: string): Promise<boolean> {
  return (await storage.stat(path)) !== undefined;
}

/** Gives a manifest a further name, unless other bytes have it. @throws ManifestTaken */
export async function place(storage: Storage, staged: string, path: string): Promise<void> {
  const bytes = heldBytes.get(staged);
  heldBytes.delete(staged);
  const placed = await (bytes === undefined
    ? storage.linkIfAbsent(staged, path)
    : storage.putIfAbsent(path, bytes));
  if (placed === 'created') return;
  if (await haveSameBytes(storage, staged, path)) return;
  throw new ManifestTaken(path);
}
