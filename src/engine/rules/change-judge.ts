import type { CountedRows } from '../../rules/table-change.ts';
import type { ProposedVersion } from '../table/proposed-version.ts';
import type { Tables } from '../table/tables.ts';
import type { CommitJudge } from './commit-judge.ts';
import { versionJudge, type VersionPlace } from './version-judge.ts';

/** The rows of a change, from what it came to. */
export type RowsOf<Result> = (result: Result) => CountedRows;

/** What judges a change whose rows are counted; nothing where no rule is about the table. */
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
