import { join } from 'node:path';
import { Schema } from 'apache-arrow';
import type { CommitAction, TableState } from '../../rules/commit-facts.ts';
import { rowCountOf, sameColumns, type Moves } from '../../rules/table-change.ts';
import type { Action } from '../../protocol/operations/operation.ts';
import type { LanceFolders } from '../format/lance/lance-folders.ts';
import {
  liveRowCount,
  type LanceField,
  type LanceFragment,
  type LanceManifest,
} from '../format/lance/lance-manifest.ts';
import { arrowFields } from '../format/lance/lance-schema.ts';
import type { LanceChange } from '../format/lance/lance-transaction.ts';
import { LANCE_DATA, LANCE_DELETIONS } from '../format/lance/versions.ts';
import { columnFacts } from './engine-state.ts';
import { itemAt } from '../base/items.ts';

/**
 * State of a Lance table's version for rules. Files are identified by absolute paths, since a
 * branch names files of its origin relative to another folder.
 * @throws LanceManifestError
 */
export function lanceState(manifest: LanceManifest, folders: LanceFolders): TableState {
  const { fields, fragments } = manifest;
  const columns = fields.filter(({ parent }) => parent < 0);
  const schema = new Schema([...arrowFields(fields)]);
  return {
    columns: columnFacts(schema, (at) => idsWithin(fields, itemAt(columns, at).id)),
    fragments: fragments.map((fragment) => ({
      key: keyOf(fragment, folders),
      rows: liveRowCount(fragment),
      files: fragment.files.map(({ bytes, fields: ids, ...file }) => ({
        path: placeOf(folders, LANCE_DATA, file.path, file.base),
        bytes: bytes ?? 0n,
        ids: ids.filter((id) => id >= 0),
      })),
      deletions: deletionsOf(fragment, folders),
    })),
  };
}

function keyOf({ id, files: [first] }: LanceFragment, folders: LanceFolders): string {
  return first === undefined ? String(id) : placeOf(folders, LANCE_DATA, first.path, first.base);
}

function deletionsOf({ id, deletions }: LanceFragment, folders: LanceFolders): string | null {
  if (deletions === null) return null;
  return placeOf(folders, LANCE_DELETIONS, `${id}-${deletions.name}`, deletions.base);
}

function placeOf(
  { own, bases }: LanceFolders,
  kind: string,
  path: string,
  base: number | undefined,
): string {
  if (base === undefined) return join(own, kind, path);
  const cached = bases.get(base);
  // An unknown base is not one of another version.
  if (cached === undefined) return `${own} ${base} ${path}`;
  return cached.isTable ? join(cached.path, kind, path) : join(cached.path, path);
}

/** Ids of a field and its nested fields. */
function idsWithin(fields: readonly LanceField[], id: number): readonly number[] {
  const ids = [id];
  for (const outer of ids) {
    for (const field of fields) if (field.parent === outer) ids.push(field.id);
  }
  return ids;
}

/**
 * Relates added and removed rows by the client's transaction. Merged files are believed to hold the
 * same rows only if their number is the same.
 */
export function movesBetween(
  before: TableState | null,
  after: TableState,
  change: LanceChange | null,
): Moves {
  if (change === 'rewrite' && before !== null && rowCountOf(before) === rowCountOf(after))
    return 'kept';
  return change === 'append' || change === 'delete' || change === 'overwrite' ? 'apart' : 'updated';
}

/**
 * Action of a Lance client's commit for rules: the recorded one, if it fits the change of the
 * manifest.
 */
export function lanceAction(
  before: TableState | null,
  after: TableState,
  change: LanceChange | null,
): CommitAction {
  if (before === null) return 'create';
  if (change === 'overwrite' || change === 'restore') return change;
  return movesBetween(before, after, change) === 'kept' ? 'compact' : 'commit';
}

const byChange: Partial<Record<LanceChange, readonly Action[]>> = {
  delete: ['DeleteFromTable'],
  update: ['UpdateTable', 'MergeInsertIntoTable'],
  overwrite: ['InsertIntoTable', 'modify'],
  restore: ['RestoreTable'],
  create_index: ['index', 'CreateTableIndex', 'CreateTableScalarIndex'],
};

/** Actions that a Lance client's commit counts as, from the change of its manifest. */
export function lanceClasses(
  before: TableState | null,
  after: TableState,
  rows: { readonly rowsAdded: bigint; readonly rowsRemoved: bigint; readonly rowsChanged: bigint },
  change: LanceChange | null,
): ReadonlySet<Action> {
  const classes = new Set<Action>(change === null ? [] : (byChange[change] ?? []));
  if (before === null) classes.add('create').add('CreateTable');
  else if (!sameColumns(before.columns, after.columns)) classes.add('schema');
  if (rows.rowsAdded > 0n) classes.add('append').add('InsertIntoTable');
  if (rows.rowsRemoved > 0n || rows.rowsChanged > 0n) classes.add('modify');
  return classes;
}

/** Actions of a commit with an unknown change: all possible ones. */
export function anyClasses(change: LanceChange | null): ReadonlySet<Action> {
  const allowed = change === null ? Object.values(byChange).flat() : (byChange[change] ?? []);
  return new Set<Action>([...allowed, 'create', 'schema', 'append', 'InsertIntoTable', 'modify']);
}
