import { CommitJudge, judging, noRules } from '../../src/engine/rules/commit-judge.ts';
import { requestOf } from './request.ts';
import { anything } from './permit.ts';

/** What judges commits where there are no rules. */
export function unbound(): CommitJudge {
  const none = judging(
    () => noRules,
    () => undefined,
    Date.now,
  );
  return new CommitJudge(none, requestOf('POST /v1/table/t/describe'), anything());
}
