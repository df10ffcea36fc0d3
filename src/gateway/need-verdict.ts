import type { Verdict } from '../policy/snapshot.ts';
import type { Need } from './known-route.ts';
import type { SnapshotPermit } from './permit.ts';

/** What a policy says of a right that a request needs, and whether that is enough for the request. */
export interface NeedVerdict extends Verdict {
  readonly enough: boolean;
}

/** Judges a right that the route shows by the policy of a permit. */
export function judgeNeed(need: Need, permit: SnapshotPermit): NeedVerdict {
  const verdict = verdictOn(need, permit);
  const { allowed, rule, reason } = verdict;
  return { allowed, rule, reason, enough: isEnough(need, verdict) };
}

/** What a policy says of a right that a request needs. */
export function verdictOn(need: Need, permit: SnapshotPermit): Verdict {
  if (need.judged !== 'anywhere') {
    return permit.verdict(need.action, need.object, need.branch);
  }
  const allowed = permit.mayAnywhere(need.action);
  return {
    allowed,
    rule: null,
    reason: allowed ? 'allowed on some object' : 'allowed on no object',
  };
}

/** Whether that is enough for the request. A refusal without a line is the default one: nothing allowed it, nothing denied it. */
export function isEnough(need: Need, verdict: Verdict): boolean {
  return verdict.allowed || (need.judged === 'not-denied' && verdict.rule === null);
}
