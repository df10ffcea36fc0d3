import { randomUUID } from 'node:crypto';
import { operations } from '../../protocol/operations/operations.ts';
import { CommitJudge, type Judging } from './commit-judge.ts';
import { judgeAside, type JudgedTable } from './place-judge.ts';

/** Subject of removals by retention for rules and the audit log. */
export const RETENTION = 'system:retention';

/**
 * Judges removals of expired versions, each as a commit of `system:retention`. Exceptions of rules
 * do not apply, and there is no context.
 */
export function expiryJudge(
  judging: Judging,
): (table: JudgedTable, branch: string) => Promise<void> {
  return async (table, branch) => {
    const id = randomUUID();
    const operation = operations.BatchDeleteTableVersions;
    const request = { operation, requestId: id, context: null };
    const nobody = { kind: 'key', id: '' } as const;
    const principal = { subject: RETENTION, groups: [], roles: [], credential: nobody };
    const { all } = judging.source();
    const rules = new CommitJudge(judging, request, { principal, decisionId: id }, all);
    await judgeAside(rules, table, 'expire', { branch });
  };
}
