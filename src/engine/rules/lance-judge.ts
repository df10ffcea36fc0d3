import type { Action } from '../../protocol/operations/operation.ts';
import type { Storage } from '../../storage/storage.ts';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { versionChange } from '../../rules/table-change.ts';
import type { TableState } from '../../rules/commit-facts.ts';
import type { VersionRecord } from '../format/records.ts';
import { LanceManifestError } from '../format/lance/lance-message.ts';
import { lanceTransaction, type LanceChange } from '../format/lance/lance-transaction.ts';
import { lanceFolders } from '../format/lance/lance-folders.ts';
import type { LanceManifest } from '../format/lance/lance-manifest.ts';
import { readManifestFile } from '../format/lance/manifest-file.ts';
import { locationOf } from '../versions/managed/managed-versions.ts';
import { isAbsent } from '../../storage/storage-error.ts';
import type { JudgeStaged } from '../versions/managed/staged-manifest.ts';
import type { Commit, CommitJudge } from './commit-judge.ts';
import type { LanceRowReads } from './lance-judged-rows.ts';
import type { ObjectPath } from '../../protocol/identifier.ts';
import { anyClasses, lanceAction, lanceClasses, lanceState, movesBetween } from './lance-state.ts';

const NONE: ReadonlySet<Action> = new Set();

/**
 * Judges versions of Lance clients by their manifests before and after.
 * @param classes Actions that a version counts as beside those of its manifest.
 */
export function lanceJudge(rules: CommitJudge, classes: ReadonlySet<Action> = NONE): JudgeStaged {
  return async ({ storage, path, table, branch, base, manifest, file }) => {
    if (!rules.covers(path)) return;
    const location = locationOf(table);
    const before = base === undefined ? null : await stateBefore(storage, location, base);
    const reads = rules.lanceRows && { reads: rules.lanceRows, path, location };
    const step = { table: table.id, branch, before, manifest, file, reads };
    const commit = await lanceCommit(storage, step);
    await rules.judge({
      table: path,
      operation: 'CreateTableVersion',
      branch,
      location,
      ...commit,
      classes: new Set([...(commit.classes ?? NONE), ...classes]),
    });
  };
}

/** A version of a Lance client and its predecessor. */
interface LanceStep {
  /** Id of the table. */
  readonly table: string;
  readonly branch: string;
  readonly before: StateBefore;
  /** The manifest, or why it cannot be read. */
  readonly manifest: LanceManifest | Unread;
  /** Absolute path of the file with the manifest. */
  readonly file: string;
  /** How the rows of the version are read; not at all if undefined. */
  readonly reads: StepReads | undefined;
}

/** Reads the rows of a version. */
export interface StepReads {
  readonly reads: LanceRowReads;
  readonly path: ObjectPath;
  readonly location: string;
  /** A version of main, through which branches are read; the newest of the catalog if undefined. */
  readonly main?: VersionRecord | undefined;
}

/** State before a version; null if there was none. */
export type StateBefore = TableState | Unread | null;

/** An unreadable version, with the reason as a part of a sentence. */
export class Unread {
  readonly why: string;

  constructor(why: string) {
    this.why = why;
  }

  static manifest(version: bigint): Unread {
    return new Unread(`the manifest of its version ${version} cannot be read`);
  }
}

type LanceFacts = Pick<
  Commit,
  'action' | 'classes' | 'change' | 'unknown' | 'keeper' | 'rows' | 'transaction'
>;

/** Facts of a version's change for rules. */
export async function lanceCommit(
  storage: Storage,
  { table, branch, before, manifest, file, reads }: LanceStep,
): Promise<LanceFacts> {
  const keeper = 'elsewhere';
  if (manifest instanceof Unread) return { keeper, ...unknown(manifest, null) };
  const { id, change: kind } = await lanceTransaction(storage, file, manifest);
  const transaction = await commitId(storage, { table, branch, file, transaction: id });
  if (before instanceof Unread) return { keeper, transaction, ...unknown(before, kind) };
  const after = await stateOf(storage, file, manifest);
  if (after instanceof Unread) return { keeper, transaction, ...unknown(after, kind) };
  const change = versionChange(before, after, movesBetween(before, after, kind));
  const classes = lanceClasses(before, after, change, kind);
  const action = lanceAction(before, after, kind);
  // A detached version is no version of its line, which the library could open.
  if (reads === undefined || BigInt.asIntN(64, manifest.version) <= 0n)
    return { keeper, transaction, action, classes, change };
  const { path, location, main } = reads;
  const version = { table, path, location, branch, manifest, file, state: after, main };
  const rows = reads.reads.open(version);
  return { keeper: 'here', rows, transaction, action, classes, change };
}

function unknown({ why }: Unread, kind: LanceChange | null) {
  return { action: 'commit', classes: anyClasses(kind), change: null, unknown: why } as const;
}

/**
 * State of a recorded version. Earlier versions of the same commit may not have their final names
 * yet.
 */
export async function stateBefore(
  storage: Storage,
  location: string,
  record: VersionRecord,
): Promise<TableState | Unread> {
  for (const name of [record.manifest, record.staging]) {
    const file = join(location, name);
    const manifest = await manifestIn(storage, file, record.version);
    if (!(manifest instanceof Unread)) return stateOf(storage, file, manifest);
  }
  return Unread.manifest(record.version);
}

/** Reads the manifest of a version. */
export async function manifestIn(
  storage: Storage,
  file: string,
  version: bigint,
): Promise<LanceManifest | Unread> {
  try {
    return (await readManifestFile(storage, file)).manifest;
  } catch (error) {
    if (!isAbsent(error) && !(error instanceof LanceManifestError)) throw error;
    return Unread.manifest(version);
  }
}

/** State in a manifest; unreadable if its columns are unknown. */
async function stateOf(
  storage: Storage,
  file: string,
  manifest: LanceManifest,
): Promise<TableState | Unread> {
  const folders = await lanceFolders(storage, file, manifest);
  try {
    return lanceState(manifest, folders);
  } catch (error) {
    if (!(error instanceof LanceManifestError)) throw error;
    return Unread.manifest(BigInt.asIntN(64, manifest.version));
  }
}

/** A commit of a Lance client. */
interface LanceCommit {
  /** Id of the table. */
  readonly table: string;
  readonly branch: string;
  /** Absolute path of the file with its manifest. */
  readonly file: string;
  /** Name of its transaction; null if the client recorded none. */
  readonly transaction: string | null;
}

/**
 * Identity of a commit across retries: its transaction, or the SHA-256 of its manifest, which names
 * its version and new files.
 */
async function commitId(storage: Storage, commit: LanceCommit): Promise<string> {
  const { table, branch, file, transaction } = commit;
  return `${table} ${branch} ${transaction ?? (await digestOf(storage, file))}`;
}

async function digestOf(storage: Storage, file: string): Promise<string> {
  return createHash('sha256')
    .update(await storage.read(file, 'folders'))
    .digest('hex');
}
