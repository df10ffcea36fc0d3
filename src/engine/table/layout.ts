import { randomUUID } from 'node:crypto';
import { join } from 'node:path';

/**
 * Names inside a table's folder (contract section 9): `data/` holds the data
 * files, `deletions/` the lists of deleted rows and `versions/` one manifest per
 * version.
 */
export const DATA = 'data';
export const VERSIONS = 'versions';
export const DELETIONS = 'deletions';

/** A new name for a data file, relative to the table's folder. */
export function newDataFile(): string {
  return join(DATA, `${randomUUID()}.arrow`);
}

/** The final name of a version's manifest, relative to the table's folder. */
export function manifestName(version: bigint): string {
  return join(VERSIONS, `${version.toString().padStart(20, '0')}.arrow`);
}

/** A new name for a manifest that is not committed yet. Nothing reads it but the commit that it belongs to. */
export function stagingName(version: bigint): string {
  return `${manifestName(version)}-${randomUUID()}`;
}
