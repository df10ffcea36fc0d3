import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { isAbsent } from '../../../storage/storage-error.ts';
import type { OpenObject, Storage } from '../../../storage/storage.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import type { VersionRecord } from '../../format/records.ts';
import { pathIn } from './place.ts';

/** Bytes of a manifest that are read at once. */
const PIECE_BYTES = 2 ** 18;
/** Maximum number of cached file digests. */
const KNOWN_FILES = 10_000;

/** A file as it was when its digest was computed. */
interface KnownFile {
  /** Changes whenever the bytes do: device, inode, size and times. */
  readonly stamp: string;
  readonly digest: string;
}

/** By path. A digest is of bytes: whichever engine computed it, it is the same. */
const cache = new LRUCache<string, KnownFile>({ max: KNOWN_FILES });

/** The SHA-256 of an open manifest's bytes, in hexadecimal digits. */
export async function openDigest(file: OpenObject): Promise<string> {
  const hash = createHash('sha256');
  const piece = Buffer.alloc(Math.min(PIECE_BYTES, Math.max(1, file.size())));
  for (let at = 0; ;) {
    const read = await file.read(piece, at);
    if (read === 0) return hash.digest('hex');
    hash.update(piece.subarray(0, read));
    at += read;
  }
}

/**
 * The same of a file by its path; it is read again only when it is another one.
 * @returns Undefined where there is none.
 * @throws the system's error.
 */
export async function manifestDigest(storage: Storage, path: string): Promise<string | undefined> {
  const stamp = await storage.stamp(path);
  if (stamp === undefined) return undefined;
  const before = cache.get(path);
  if (before?.stamp === stamp) return before.digest;
  try {
    const file = await storage.open(path, 'folders');
    try {
      const digest = await openDigest(file);
      // A file that was replaced meanwhile is not known by this digest.
      if ((await storage.stamp(path)) === stamp) cache.set(path, { stamp, digest });
      return digest;
    } finally {
      file.close();
    }
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

/**
 * Refuses a version whose manifest is another than the one that was recorded; does nothing
 * for a record without a digest, or whose manifest is gone.
 * @param location The folder of its table.
 * @throws CatalogError Internal.
 */
export async function requireRecorded(
  storage: Storage,
  location: string,
  record: VersionRecord,
): Promise<void> {
  const { digest, manifest, staging, version } = record;
  if (digest === undefined) return;
  for (const name of [manifest, staging]) {
    const found = await manifestDigest(storage, pathIn(location, name));
    if (found === digest) return;
    if (found !== undefined) throw replaced(name, version);
  }
}

function replaced(name: string, version: bigint): CatalogError {
  return new CatalogError(
    'Internal',
    `${name} of the table is not the manifest that the catalog recorded for version ${version}: put that one back. \`arrowgate catalog verify\` names what is damaged`,
  );
}
