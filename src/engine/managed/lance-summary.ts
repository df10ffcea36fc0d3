import { join } from 'node:path';
import type { CommitSummary } from '../../protocol/commit-summary.ts';
import type { VersionRecord } from '../catalog/records.ts';
import { liveRows, type LanceFragment, type LanceManifest } from '../lance/lance-manifest.ts';
import { LanceManifestError } from '../lance/lance-message.ts';
import { readManifestFile } from '../lance/manifest-file.ts';
import { isAbsent } from './place.ts';

const KIND = 'create_version';

/** The version that another one follows. */
export interface LanceBase {
  /** Undefined for the first. */
  readonly record: VersionRecord | undefined;
  /** Its manifest, where it was read already. */
  readonly known: LanceManifest | undefined;
}

/**
 * What the commit of a Lance client did, for the audit record, as its manifest
 * and the one before say.
 */
export async function lanceSummary(
  location: string,
  { record: base, known }: LanceBase,
  next: LanceManifest,
): Promise<CommitSummary> {
  const before = known ?? (base === undefined ? undefined : await readBase(location, base));
  const fragments = before?.fragments ?? [];
  return {
    kind: KIND,
    baseVersion: base?.version ?? null,
    version: BigInt.asIntN(64, next.version),
    rowsAdded: rowsMissing(next.fragments, fragments),
    rowsRemoved: rowsMissing(fragments, next.fragments),
    schemaChanged: before === undefined || fieldsOf(before) !== fieldsOf(next),
    rules: [],
  };
}

/** Of a commit that was asked for again: it changed nothing. */
export function repeatedSummary(version: bigint): CommitSummary {
  const rows = { rowsAdded: 0n, rowsRemoved: 0n };
  return { kind: KIND, baseVersion: null, version, ...rows, schemaChanged: false, rules: [] };
}

/** The audit says what is known; a commit does not fail for what is not. */
async function readBase(
  location: string,
  { manifest }: VersionRecord,
): Promise<LanceManifest | undefined> {
  try {
    return (await readManifestFile(join(location, manifest))).manifest;
  } catch (error) {
    if (isAbsent(error) || error instanceof LanceManifestError) return undefined;
    throw error;
  }
}

/** How many rows of some fragments others do not have. */
function rowsMissing(some: readonly LanceFragment[], others: readonly LanceFragment[]): bigint {
  const known = new Map(others.map((fragment) => [keyOf(fragment), liveRows(fragment)]));
  return some.reduce((sum, fragment) => {
    const missing = liveRows(fragment) - (known.get(keyOf(fragment)) ?? 0n);
    return missing > 0n ? sum + missing : sum;
  }, 0n);
}

/** What names a fragment for good: its first file. */
function keyOf({ files, id }: LanceFragment): string {
  return files[0]?.path ?? String(id);
}

function fieldsOf({ fields }: LanceManifest): string {
  return JSON.stringify(
    fields.map(({ name, id, parent, type, nullable }) => [name, id, parent, type, nullable]),
  );
}
