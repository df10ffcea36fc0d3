import type { Storage } from '../../storage/storage.ts';
import { join } from 'node:path';
import type { Action } from '../../protocol/operations/operation.ts';
import type { CommitAction, TableState, VersionChange } from '../../rules/commit-facts.ts';
import { sameColumns, type CountedRows, type Moves } from '../../rules/table-change.ts';
import type { VersionRecord } from '../format/records.ts';
import { lanceFolders } from '../format/lance/lance-folders.ts';
import { lanceTransaction } from '../format/lance/lance-transaction.ts';
import { readManifestFile } from '../format/lance/manifest-file.ts';
import type { Snapshot } from '../format/snapshot.ts';
import { engineState } from './engine-state.ts';
import { lanceAction, lanceClasses, lanceState, movesBetween } from './lance-state.ts';

/** A stored version. */
export interface PastVersion {
  readonly state: TableState;
  /** The version, if its rows can be read. */
  readonly snapshot?: Snapshot;
  readonly rows: (before: PastVersion | null) => CountedRows | Moves;
  readonly action: (before: PastVersion | null) => CommitAction;
  readonly classes: (change: VersionChange) => ReadonlySet<Action>;
}

/** A version that a Lance client wrote. @throws LanceManifestError, and what the operating system says. */
export async function lancePast(
  storage: Storage,
  location: string,
  { manifest: name }: Pick<VersionRecord, 'manifest'>,
): Promise<PastVersion> {
  const file = join(location, name);
  const { manifest } = await readManifestFile(storage, file);
  const { change: kind } = await lanceTransaction(storage, file, manifest);
  const state = lanceState(manifest, await lanceFolders(storage, file, manifest));
  return {
    state,
    rows: (before) => movesBetween(before?.state ?? null, state, kind),
    action: (before) => lanceAction(before?.state ?? null, state, kind),
    classes: (change) => lanceClasses(change.before, state, change, kind),
  };
}

/** A version that this engine wrote. */
export function enginePast(snapshot: Snapshot): PastVersion {
  return {
    state: engineState(snapshot),
    snapshot,
    rows: (before) => engineRows(before?.snapshot, snapshot),
    action: (before) => (before === null ? 'create' : 'commit'),
    classes: classesOf,
  };
}

/**
 * Counts added, changed and removed rows from manifests. New rows have new ids; rows rewritten
 * under their ids were updated; if whole fragments were replaced by as many rows, files were
 * merged.
 */
function engineRows(before: Snapshot | undefined, after: Snapshot): CountedRows | Moves {
  if (before === undefined) return 'apart';
  const old = new Map(engineState(before).fragments.map((fragment) => [fragment.key, fragment]));
  const now = new Map(engineState(after).fragments.map((fragment) => [fragment.key, fragment]));
  const removed = [...old.values()].filter(({ key }) => !now.has(key));
  const came = [...now.values()].filter(({ key }) => !old.has(key));
  const fresh = after.nextRowId - before.nextRowId;
  const moved = sum(came) - fresh;
  if (moved <= 0n) return 'apart';
  const retained = [...old.values()].flatMap((before) => {
    const after = now.get(before.key);
    return after === undefined ? [] : [{ before, after }];
  });
  const left = retained.reduce((total, { before, after }) => total + before.rows - after.rows, 0n);
  const went = sum(removed) + left;
  const whole = retained.every(({ before, after }) => before.deletions === after.deletions);
  if (fresh === 0n && whole && moved === went && removed.length > 1) return 'kept';
  const changed = moved < went ? moved : went;
  return { added: fresh, changed, removed: went - changed };
}

function sum(fragments: readonly { readonly rows: bigint }[]): bigint {
  return fragments.reduce((total, { rows }) => total + rows, 0n);
}

function classesOf(change: VersionChange): ReadonlySet<Action> {
  const { before, after, rowsAdded, rowsRemoved, rowsChanged } = change;
  const classes = new Set<Action>();
  if (before === null) classes.add('create').add('CreateTable');
  else if (!sameColumns(before.columns, after.columns)) classes.add('schema');
  if (rowsAdded > 0n) classes.add('append').add('InsertIntoTable');
  if (rowsRemoved > 0n || rowsChanged > 0n) classes.add('modify');
  if (rowsChanged > 0n) classes.add('UpdateTable').add('MergeInsertIntoTable');
  if (rowsRemoved > 0n) classes.add('DeleteFromTable');
  return classes;
}
