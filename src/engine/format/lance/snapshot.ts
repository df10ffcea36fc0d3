import { canonicalPath, type ObjectPath } from '../../../protocol/identifier.ts';
import { isObjectKey } from '../../../storage/object-key.ts';
import { isAbsent } from '../../../storage/storage-error.ts';
import type { Storage } from '../../../storage/storage.ts';
import { join } from 'node:path';
import { Schema } from 'apache-arrow';
import { LRUCache } from 'lru-cache';
import { CatalogError } from '../../../protocol/errors.ts';
import type { VersionRecord } from '../records.ts';
import { deletedRowCount, fragmentBytes, liveRowCount } from './lance-manifest.ts';
import { LanceManifestError } from './lance-message.ts';
import { arrowFields } from './lance-schema.ts';
import { readManifestFile } from './manifest-file.ts';
import { versionNotFound } from '../version-refusals.ts';

/** A Lance table at one version, from its manifest. */
export interface LanceSnapshot {
  readonly version: bigint;
  readonly schema: Schema;
  readonly fragments: readonly LancePart[];
  readonly numIndices: number;
}

/** A fragment of a Lance table. */
interface LancePart {
  /** Rows that are not deleted. */
  readonly rows: number;
  readonly deletedRows: number;
  /** Size of its data files in bytes, as far as the manifest records it. */
  readonly bytes: number;
}

/** The names of a version's manifest. */
type ManifestNames = Pick<
  VersionRecord,
  'version' | 'manifest' | 'staging' | 'manifestBytes' | 'digest'
>;

/** Snapshots are kept whose manifests are so large together, in bytes. */
const CAPACITY_BYTES = 16 * 2 ** 20;
/** A larger manifest is read again. */
const MOST_BYTES = 2 ** 20;

/**
 * Snapshots of versions in object stores: reading one costs a request. By the second name of the staged
 * manifest, which nothing else ever has: a manifest never changes once it has its final name.
 */
const known = new LRUCache<string, LanceSnapshot>({ maxSize: CAPACITY_BYTES });

function knownKey(
  folder: string,
  { manifest, staging, manifestBytes, digest }: ManifestNames,
): string | undefined {
  // What clients wrote without the catalog may be replaced by them.
  const isUnique = manifest !== staging && digest === undefined;
  const isKept = isUnique && isObjectKey(folder) && manifestBytes <= MOST_BYTES;
  return isKept ? join(folder, staging) : undefined;
}

/** Whether a version is in memory: its manifest had its final name when it was read. */
export function isSnapshotKnown(folder: string, names: ManifestNames): boolean {
  const key = knownKey(folder, names);
  return key !== undefined && known.has(key);
}

/**
 * Whether the final manifest of a version is there. It is kept in memory where it may be, so that reading it next
 * costs no further request; undefined where it may not.
 */
export async function isManifestRead(
  storage: Storage,
  folder: string,
  names: ManifestNames,
): Promise<boolean | undefined> {
  if (knownKey(folder, names) === undefined) return undefined;
  try {
    await readSnapshot(storage, folder, names);
    return true;
  } catch (error) {
    if (isAbsent(error)) return false;
    if (error instanceof LanceManifestError) return true;
    throw error;
  }
}

/**
 * A Lance table at a version.
 * @param folder The table's folder.
 * @param names Its manifest is named relative to the folder.
 * @param path Path of the table, for errors.
 * @throws CatalogError TableVersionNotFound when the manifest is gone; Internal for one that cannot be read.
 */
export async function lanceSnapshot(
  storage: Storage,
  folder: string,
  names: ManifestNames,
  path?: ObjectPath,
): Promise<LanceSnapshot> {
  const key = knownKey(folder, names);
  const found = key === undefined ? undefined : known.get(key);
  if (found !== undefined) return found;
  try {
    return await readSnapshot(storage, folder, names);
  } catch (error) {
    // Lance clients remove old versions on their own.
    if (isAbsent(error)) throw versionNotFound(names.version);
    if (!(error instanceof LanceManifestError)) throw error;
    const table = path === undefined ? 'the table' : `table ${canonicalPath(path)}`;
    throw new CatalogError(
      'Internal',
      `the manifest of version ${names.version} of ${table} cannot be read: ${error.message}`,
    );
  }
}

async function readSnapshot(
  storage: Storage,
  folder: string,
  names: ManifestNames,
): Promise<LanceSnapshot> {
  const { version } = names;
  const { manifest, segments } = await readManifestFile(storage, join(folder, names.manifest));
  const fields = arrowFields(manifest.fields);
  const fragments = manifest.fragments.map((fragment) => ({
    rows: Number(liveRowCount(fragment)),
    deletedRows: Number(deletedRowCount(fragment)),
    bytes: Number(fragmentBytes(fragment)),
  }));
  const schema = new Schema([...fields], new Map(manifest.metadata));
  const numIndices = new Set(segments.map((segment) => segment.name)).size;
  const snapshot = { version, schema, fragments, numIndices };
  const key = knownKey(folder, names);
  if (key !== undefined) known.set(key, snapshot, { size: Math.max(1, names.manifestBytes) });
  return snapshot;
}
