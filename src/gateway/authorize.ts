import type { PolicySnapshot } from '../policy/decide/snapshot.ts';
import { isEnough, verdictOn, SnapshotPermit } from './decision/permit.ts';
import { needsOf } from './decision/needs.ts';
import { advance } from './passage.ts';
import type { Networks } from './http/networks.ts';
import type { Shadow } from './shadow.ts';
import type { Authorized, Limited } from './decision/steps.ts';
import { circumstancesOf } from '../policy/conditions/circumstances.ts';

/**
 * Decides a request by its route and query, and gives it the permit that the
 * backend asks for the rest. The shadow policy decides the same, without effect.
 * @param trusted Peers whose context counts in restrictions; none if absent.
 * @throws CatalogError InvalidInput; Denied
 */
export function authorize(
  limited: Limited,
  policy: PolicySnapshot,
  shadow?: Shadow,
  trusted?: Networks,
): Authorized {
  const { principal, decisionId } = limited;
  const circumstances = circumstancesOf(limited);
  const needs = needsOf(limited.route);
  const { operation, object } = limited.route;
  const request = {
    route: { operation: operation.name, object },
    context: () => unchosenContext(limited, trusted),
  };
  const trial = shadow?.trial(principal, decisionId, circumstances, request);
  trial?.judge(needs);
  const permit = new SnapshotPermit(policy, principal, decisionId, circumstances, request, trial);
  let rule: string | null | undefined;
  for (const need of needs) {
    const verdict = verdictOn(need, permit);
    if (!isEnough(need, verdict)) permit.refuse(need.action, need.object, verdict);
    if (rule === undefined) ({ rule } = verdict);
  }
  return advance(limited, { permit, rule: rule ?? null });
}

const NOTHING: ReadonlyMap<string, string> = new Map();

/** The context that the caller did not choose: that of the credential, and the headers of a trusted proxy. */
function unchosenContext(
  { context, incoming, principal }: Limited,
  trusted: Networks | undefined,
): ReadonlyMap<string, string> {
  const peer = (incoming.socket.remoteAddress ?? '').replace(/^::ffff:/, '');
  return trusted?.has(peer) === true ? context : (principal.context ?? NOTHING);
}
