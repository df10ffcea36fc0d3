import { canonicalPath, type ObjectPath } from '../../../protocol/identifier.ts';
import type { Storage } from '../../../storage/storage.ts';
import { join } from 'node:path';
import { Schema } from 'apache-arrow';
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

/**
 * A Lance table at a version.
 * @param folder The table's folder.
 * @param version Its manifest is named relative to the folder.
 * @param path Path of the table, for errors.
 * @throws CatalogError TableVersionNotFound when the manifest is gone; Internal for one that cannot be read.
 */
export async function lanceSnapshot(
  storage: Storage,
  folder: string,
  { version, manifest: name }: Pick<VersionRecord, 'version' | 'manifest'>,
  path?: ObjectPath,
): Promise<LanceSnapshot> {
  try {
    const { manifest, segments } = await readManifestFile(storage, join(folder, name));
    const fields = arrowFields(manifest.fields);
    const fragments = manifest.fragments.map((fragment) => ({
      rows: Number(liveRowCount(fragment)),
      deletedRows: Number(deletedRowCount(fragment)),
      bytes: Number(fragmentBytes(fragment)),
    }));
    const schema = new Schema([...fields], new Map(manifest.metadata));
    const numIndices = new Set(segments.map((segment) => segment.name)).size;
    return { version, schema, fragments, numIndices };
  } catch (error) {
    // Lance clients remove old versions on their own.
    if (isMissing(error)) throw versionNotFound(version);
    if (!(error instanceof LanceManifestError)) throw error;
    const table = path === undefined ? 'the table' : `table ${canonicalPath(path)}`;
    throw new CatalogError(
      'Internal',
      `the manifest of version ${version} of ${table} cannot be read: ${error.message}`,
    );
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
