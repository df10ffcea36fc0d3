import { Schema } from 'apache-arrow';
import type { CommitAction, TableState } from '../../rules/commit-facts.ts';
import { sameColumns, type Moves } from '../../rules/table-change.ts';
import type { Action } from '../../protocol/operation.ts';
import { liveRows, type LanceField, type LanceManifest } from '../lance/lance-manifest.ts';
import { arrowFields } from '../lance/lance-schema.ts';
import type { LanceChange } from '../lance/lance-transaction.ts';
import { columnsOf } from './engine-state.ts';

/** A version of a table that Lance clients write, as rules look at it. @throws LanceManifestError */
export function lanceState({ fields, fragments }: LanceManifest): TableState {
  const columns = fields.filter(({ parent }) => parent < 0);
  const schema = new Schema([...arrowFields(fields)]);
  return {
    columns: columnsOf(schema, (at) => idsWithin(fields, columns[at]!.id)),
    fragments: fragments.map((fragment) => ({
      key: fragment.files[0]?.path ?? String(fragment.id),
      rows: liveRows(fragment),
      files: fragment.files.map(({ path, bytes, fields: ids }) => ({
        path,
        bytes: bytes ?? 0n,
        ids: ids.filter((id) => id >= 0),
      })),
      deletions: fragment.deletions?.name ?? null,
    })),
  };
}

/** The ids of a field and of all that lie in it. */
function idsWithin(fields: readonly LanceField[], id: number): readonly number[] {
  const ids = [id];
  for (const outer of ids) {
    for (const field of fields) if (field.parent === outer) ids.push(field.id);
  }
  return ids;
}

/** How rows that came and rows that went belong together, as far as the client says what it did. */
export function movesOf(change: LanceChange | null): Moves {
  if (change === 'rewrite') return 'kept';
  return change === 'append' || change === 'delete' || change === 'overwrite' ? 'apart' : 'updated';
}

/** What a commit of a Lance client is, as a rule names it: what it says it did, where that fits what its manifest changes. */
export function lanceAction(change: LanceChange | null, isFirst: boolean): CommitAction {
  if (isFirst) return 'create';
  if (change === 'overwrite' || change === 'restore') return change;
  return change === 'rewrite' ? 'compact' : 'commit';
}

const byChange: Partial<Record<LanceChange, readonly Action[]>> = {
  delete: ['DeleteFromTable'],
  update: ['UpdateTable', 'MergeInsertIntoTable'],
  overwrite: ['InsertIntoTable', 'modify'],
  restore: ['RestoreTable'],
  create_index: ['index', 'CreateTableIndex', 'CreateTableScalarIndex'],
};

/** What a commit of a Lance client counts as, by what its manifest changes. */
export function lanceClasses(
  before: TableState | null,
  after: TableState,
  rows: { readonly rowsAdded: bigint; readonly rowsRemoved: bigint; readonly rowsChanged: bigint },
  change: LanceChange | null,
): ReadonlySet<Action> {
  const classes = new Set<Action>(change === null ? [] : (byChange[change] ?? []));
  if (before === null) classes.add('create');
  else if (!sameColumns(before.columns, after.columns)) classes.add('schema');
  if (rows.rowsAdded > 0n) classes.add('append').add('InsertIntoTable');
  if (rows.rowsRemoved > 0n || rows.rowsChanged > 0n) classes.add('modify');
  return classes;
}
