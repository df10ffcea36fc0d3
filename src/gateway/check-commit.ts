import type { PolicySnapshot } from '../policy/decide/snapshot.ts';
import { queryMode } from '../protocol/mode.ts';
import { judgeRoute } from '../rules/route-judge.ts';
import { isGzip } from './http/content-coding.ts';
import type { Authorized } from './decision/steps.ts';

/**
 * Judges a commit by its route and headers.
 * @param isRemote Whether it is for a backend elsewhere.
 * @throws RuleRefusal
 */
export function checkCommit(
  authorized: Authorized,
  { commits }: PolicySnapshot,
  isRemote: () => boolean,
): Authorized {
  const { route, context, principal, incoming } = authorized;
  const { operation, object, target } = route;
  if (commits.rules.length === 0 || !operation.mutates) return authorized;
  judgeRoute(commits.binding(principal), {
    operation,
    object,
    ...(target !== undefined && { target }),
    mode: queryMode(operation, route.query) ?? null,
    contentLength: isGzip(incoming) ? null : lengthOf(incoming.headers['content-length']),
    context,
    isRemote,
    now: Date.now(),
  });
  return authorized;
}

function lengthOf(header: string | undefined): bigint | null {
  return header !== undefined && /^\d{1,18}$/.test(header) ? BigInt(header) : null;
}
