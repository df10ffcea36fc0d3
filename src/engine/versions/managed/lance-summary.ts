import type { Storage } from '../../../storage/storage.ts';
import { join } from 'node:path';
import type { CommitSummary } from '../../../protocol/commit-summary.ts';
import type { VersionRecord } from '../../format/records.ts';
import { changedFragments } from '../../format/lance/changed-fragments.ts';
import {
  liveRowCount,
  type LanceFragment,
  type LanceManifest,
} from '../../format/lance/lance-manifest.ts';
import { LanceManifestError } from '../../format/lance/lance-message.ts';
import { placeSummary, wasReplaced } from '../../once/commit-summary.ts';
import { lanceTransaction, type LanceTransaction } from '../../format/lance/lance-transaction.ts';
import { readManifestFile } from '../../format/lance/manifest-file.ts';
import { isAbsent } from '../../../storage/storage-error.ts';

const KIND = 'create_version';

/** The version that another one follows. */
interface PreviousLanceVersion {
  /** Undefined for the first. */
  readonly record: VersionRecord | undefined;
  /** Its manifest, where it was read already. */
  readonly manifest: LanceManifest | undefined;
}

/** The version that a Lance client made. */
export interface LanceNext {
  /** Id of the table. */
  readonly table: string;
  readonly manifest: LanceManifest;
  /** Absolute path of the manifest. */
  readonly file: string;
}

/**
 * What the commit of a Lance client did, for the audit record, as its manifest
 * and the one before say.
 */
export async function lanceSummary(
  storage: Storage,
  location: string,
  { record: base, manifest }: PreviousLanceVersion,
  { table, manifest: next, file }: LanceNext,
): Promise<CommitSummary> {
  const before =
    manifest ?? (base === undefined ? undefined : await readBase(storage, location, base));
  const changed = changedFragments(before?.fragments ?? [], next.fragments);
  const came = rowsMissing(changed.after, changed.before);
  const went = rowsMissing(changed.before, changed.after);
  const replaced = rowsReplaced(changed.before, changed.after);
  // Versions that only add rows need no transaction to describe them.
  const transaction = went + replaced > 0n ? await lanceTransaction(storage, file, next) : null;
  const retained = movedRows(transaction, came, went);
  return {
    kind: KIND,
    baseVersion: base?.version ?? null,
    version: BigInt.asIntN(64, next.version),
    rowsAdded: came - retained.moved,
    rowsRemoved: went - retained.moved,
    schemaChanged: before === undefined || fieldsOf(before) !== fieldsOf(next),
    rules: [],
    table,
    rowsChanged: retained.changed + replaced,
    columns: before === undefined ? [] : columnsOf(before, next, transaction),
    statement:
      transaction?.predicate === undefined ? null : `delete where ${transaction.predicate}`,
  };
}

/** Columns whose definition changed, and those that an update named. */
function columnsOf(
  before: LanceManifest,
  after: LanceManifest,
  transaction: LanceTransaction | null,
): readonly string[] {
  const modified = (transaction?.modified ?? []).flatMap((id) => columnNameOf(after, id) ?? []);
  return [...new Set([...changedFields(before, after), ...modified])];
}

/** Name of the column that a field lies in. */
function columnNameOf({ fields }: LanceManifest, id: number): string | undefined {
  const byId = new Map(fields.map((field) => [field.id, field]));
  let field = byId.get(id);
  // A damaged manifest may have a circle of fields.
  for (let depth = 0; field !== undefined && field.parent >= 0; depth++) {
    if (depth > fields.length) return undefined;
    field = byId.get(field.parent);
  }
  return field?.name;
}

interface Moved {
  /** Rows that went from one fragment to another. */
  readonly moved: bigint;
  /** Those of them that have other values. */
  readonly changed: bigint;
}

const NOTHING_MOVED: Moved = { moved: 0n, changed: 0n };

/** An update writes rows again, and a compaction puts them elsewhere: its transaction says which it was. */
function movedRows(transaction: LanceTransaction | null, came: bigint, went: bigint): Moved {
  if (transaction === null || came === 0n || went === 0n) return NOTHING_MOVED;
  const { change } = transaction;
  const moved = came < went ? came : went;
  if (change === 'rewrite') return { moved, changed: 0n };
  return change === 'update' || change === 'merge' ? { moved, changed: moved } : NOTHING_MOVED;
}

/** Rows of fragments that stay, and of which a file went for another. */
function rowsReplaced(before: readonly LanceFragment[], after: readonly LanceFragment[]): bigint {
  const byKey = new Map(before.map((fragment) => [keyOf(fragment), fragment]));
  return after.reduce((sum, fragment) => {
    const old = byKey.get(keyOf(fragment));
    const isReplaced = old !== undefined && wasReplaced(old.files, fragment.files);
    return isReplaced ? sum + liveRowCount(fragment) : sum;
  }, 0n);
}

/** Names of top-level columns that one version has and the other has not, or defines in another way. */
function changedFields(before: LanceManifest, after: LanceManifest): readonly string[] {
  const [old, now] = [before, after].map(
    ({ fields }) =>
      new Map(
        fields
          .filter(({ parent }) => parent < 0)
          .map(({ name, type, nullable }) => [name, `${type} ${nullable}`]),
      ),
  ) as [Map<string, string>, Map<string, string>];
  return [...new Set([...old.keys(), ...now.keys()])].filter(
    (name) => old.get(name) !== now.get(name),
  );
}

/** The record of a repeated commit, which changed nothing. */
export function repeatedSummary(table: string, version: bigint): CommitSummary {
  return { ...placeSummary(KIND, table), version };
}

/** The audit says what is known; a commit does not fail for what is not. */
async function readBase(
  storage: Storage,
  location: string,
  { manifest }: VersionRecord,
): Promise<LanceManifest | undefined> {
  try {
    return (await readManifestFile(storage, join(location, manifest))).manifest;
  } catch (error) {
    if (isAbsent(error) || error instanceof LanceManifestError) return undefined;
    throw error;
  }
}

/** How many rows of some fragments others do not have. */
function rowsMissing(some: readonly LanceFragment[], others: readonly LanceFragment[]): bigint {
  const rowsByKey = new Map(others.map((fragment) => [keyOf(fragment), liveRowCount(fragment)]));
  return some.reduce((sum, fragment) => {
    const missing = liveRowCount(fragment) - (rowsByKey.get(keyOf(fragment)) ?? 0n);
    return missing > 0n ? sum + missing : sum;
  }, 0n);
}

/** Permanent key of a fragment: its first file. */
function keyOf({ files, id }: LanceFragment): string {
  return files[0]?.path ?? String(id);
}

function fieldsOf({ fields }: LanceManifest): string {
  return JSON.stringify(
    fields.map(({ name, id, parent, type, nullable }) => [name, id, parent, type, nullable]),
  );
}
