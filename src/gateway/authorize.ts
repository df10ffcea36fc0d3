import type { PolicySnapshot, Verdict } from '../policy/snapshot.ts';
import { needsOf, type Need } from './needs.ts';
import { SnapshotPermit } from './permit.ts';
import { circumstancesOf } from './surroundings.ts';
import type { Authorized, Limited } from './steps.ts';

/**
 * Decides a request by its route and query, and gives it the permit that the
 * backend asks for the rest.
 * @throws CatalogError InvalidInput; Denied
 */
export function authorize(limited: Limited, policy: PolicySnapshot): Authorized {
  const { principal, decisionId } = limited;
  const permit = new SnapshotPermit(policy, principal, decisionId, circumstancesOf(limited));
  const verdicts = needsOf(limited.route).map((need) => judge(need, permit));
  return { ...limited, permit, rule: verdicts[0]?.rule ?? null };
}

function judge(need: Need, permit: SnapshotPermit): Verdict {
  const verdict = verdictOn(need, permit);
  if (!isEnough(need, verdict)) permit.refuse(need.action, need.object, verdict);
  return verdict;
}

function verdictOn(need: Need, permit: SnapshotPermit): Verdict {
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

/** A refusal without a line is the default one: nothing allowed it, nothing denied it. */
function isEnough(need: Need, verdict: Verdict): boolean {
  return verdict.allowed || (need.judged === 'not-denied' && verdict.rule === null);
}
