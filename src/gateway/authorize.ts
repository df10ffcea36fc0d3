import type { PolicySnapshot } from '../policy/decide/snapshot.ts';
import { isEnough, verdictOn, SnapshotPermit } from './decision/permit.ts';
import { needsOf } from './decision/needs.ts';
import { advance } from './passage.ts';
import type { Shadow } from './shadow.ts';
import type { Authorized, Limited } from './decision/steps.ts';
import { circumstancesOf } from '../policy/conditions/circumstances.ts';

/**
 * Decides a request by its route and query, and gives it the permit that the
 * backend asks for the rest. The shadow policy decides the same, without effect.
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
  return advance(limited, { permit, rule: rule ?? null });
}
