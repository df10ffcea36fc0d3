import type { ObjectPath } from '../../protocol/identifier.ts';
import type { Action } from '../../protocol/operations/operation.ts';
import type { CommitAction } from '../../rules/commit-facts.ts';
import { versionChange, type CountedRows, type Moves } from '../../rules/table-change.ts';
import type { TableRecord } from '../format/records.ts';
import { MAIN } from '../format/chain.ts';
import type { JudgeVersion, ProposedVersion } from '../format/version-codec.ts';
import type { Tables } from '../versions/tables.ts';
import type { CommitJudge } from './commit-judge.ts';
import { engineState } from './engine-state.ts';

/** Which table gets a version, and how. */
interface VersionPlace {
  readonly path: ObjectPath;
  readonly table: TableRecord;
  /** Main by default. */
  readonly branch?: string;
  readonly action: CommitAction;
  /** Actions that it counts as beside its operation, if a mode needs more. */
  readonly classes?: ReadonlySet<Action>;
  /** The rows of the change if they are counted; called once it is computed. */
  readonly rows?: () => CountedRows | Moves;
}

/** Judges the next version of an engine table; undefined if no rule covers it. */
export function versionJudge(
  rules: CommitJudge,
  tables: Pick<Tables, 'folder' | 'snapshotOf'>,
  place: VersionPlace,
): JudgeVersion | undefined {
  const { path, table, action, classes, branch = MAIN, rows = () => 'apart' } = place;
  if (!rules.covers(path)) return undefined;
  return async ({ base, manifest }: ProposedVersion) => {
    const before = base === undefined ? null : engineState(base);
    await rules.judge({
      table: path,
      action,
      branch,
      ...(classes !== undefined && { classes }),
      keeper: 'here',
      location: tables.folder(table),
      change: versionChange(before, engineState(manifest), rows()),
      snapshot: tables.snapshotOf(table, manifest),
    });
  };
}

/** The rows of a change, from what it came to. */
export type RowsOf<Result> = (result: Result) => CountedRows;

/** Judges a change with counted rows; undefined if no rule covers the table. */
export function changeJudge<Result>(
  rules: CommitJudge,
  tables: Pick<Tables, 'folder' | 'snapshotOf'>,
  place: Omit<VersionPlace, 'rows'>,
  rowsOf: RowsOf<Result>,
): ((result: Result, proposed: ProposedVersion) => Promise<void>) | undefined {
  if (!rules.covers(place.path)) return undefined;
  return async (result, proposed) => {
    const judge = versionJudge(rules, tables, { ...place, rows: () => rowsOf(result) });
    await judge?.(proposed);
  };
}
