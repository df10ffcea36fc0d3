import type { PolicySnapshot } from '../policy/snapshot.ts';
import { isEnough, verdictOn } from './need-verdict.ts';
import { needsOf } from './needs.ts';
import { grown } from './passage.ts';
import { SnapshotPermit } from './permit.ts';
import type { Shadow } from './shadow.ts';
import { circumstancesOf } from './surroundings.ts';
import type { Authorized, Limited } from './steps.ts';

/**
 * Decides a request by its route and query, and gives it the permit that the
 * backend asks for the rest. The shadow policy is asked the same, without effect.
 * @throws CatalogError InvalidInput; Denied
 */
export function authorize(limited: Limited, policy: PolicySnapshot, shadow?: Shadow): Authorized {
  const { principal, decisionId } = limited;
  const circumstances = circumstancesOf(limited);
  const needs = needsOf(limited.route);
  const trial = shadow?.trial(principal, decisionId, circumstances);
  trial?.judge(needs);
  const permit = new SnapshotPermit(policy, principal, decisionId, circumstances, trial);
  let rule: string | null | undefined;
  for (const need of needs) {
    const verdict = verdictOn(need, permit);
    if (!isEnough(need, verdict)) permit.refuse(need.action, need.object, verdict);
    if (rule === undefined) ({ rule } = verdict);
  }
  return grown(limited, { permit, rule: rule ?? null });
}
