import { operations } from '../../protocol/operations/operations.ts';
import type { ExternalStep, JudgeExternal } from '../versions/managed/adoption.ts';
import { locationOf } from '../versions/managed/managed-versions.ts';
import type { VersionStore } from '../versions/lines/version-store.ts';
import { CommitJudge, type Judging } from './commit-judge.ts';
import { PastLines } from './register-judge.ts';

/** Subject of adoptions for rules and the audit log. */
export const ADOPTER = 'system:adoption';

/**
 * Judges versions that were written without the catalog, each as a commit of `system:adoption`.
 * Exceptions of rules do not apply, and there is no context.
 */
export function adoptionJudge(
  judging: Judging,
  versions: Pick<VersionStore, 'list'>,
): JudgeExternal {
  return async ({ storage, path, table, lines, line, version, cause }: ExternalStep) => {
    const { requestId, decisionId } = cause;
    const request = { operation: operations.CreateTableVersion, requestId, context: null };
    const nobody = { kind: 'key', id: '' } as const;
    const principal = { subject: ADOPTER, groups: [], roles: [], credential: nobody };
    const { all } = judging.source();
    const rules = new CommitJudge(judging, request, { principal, decisionId }, all);
    if (!rules.covers(path)) return;
    const location = locationOf(table);
    const reads = rules.lanceRows && { reads: rules.lanceRows, path, location };
    const past = new PastLines(storage, versions, table.id, location, lines, reads);
    const commit = await past.commit(line, version);
    const { branch } = line.chain;
    await rules.judge({
      table: path,
      operation: 'CreateTableVersion',
      branch,
      location,
      ...commit,
    });
  };
}
