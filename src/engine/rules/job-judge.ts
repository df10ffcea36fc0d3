import { operations } from '../../protocol/operations.ts';
import type { OperationName } from '../../protocol/operation-name.ts';
import type { BackfillParts } from '../jobs/backfill.ts';
import type { Tables } from '../table/tables.ts';
import { CommitJudge, type Judging } from './commit-judge.ts';
import { versionJudge } from './version-judge.ts';

/** What judges the version that a backfill makes. */
export function backfillJudge(
  judging: Judging,
  tables: Pick<Tables, 'folder' | 'snapshotOf'>,
): NonNullable<BackfillParts['judge']> {
  return ({ record }, place) =>
    versionJudge(jobJudge(judging, 'AlterTableBackfillColumns', record.id), tables, {
      ...place,
      action: 'backfill',
    });
}

/**
 * What judges a commit of work that no request waits for. Who asked for it is not known any
 * more, so that no exception counts, nor is the context of the request.
 */
function jobJudge(judging: Judging, operation: OperationName, id: string): CommitJudge {
  const request = { operation: operations[operation], requestId: id, context: null };
  const nobody = { kind: 'key', id: '' } as const;
  const principal = { subject: '', groups: [], roles: [], credential: nobody };
  return new CommitJudge(judging, request, { principal, decisionId: id }, judging.source().all);
}
