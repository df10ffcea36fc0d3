import type { Circumstances } from '../../policy/conditions/circumstances.ts';
import type { PolicySnapshot } from '../../policy/decide/snapshot.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { canonicalPath } from '../../protocol/identifier.ts';
import type { Action } from '../../protocol/operations/operation.ts';
import { judgeNeed, SnapshotPermit } from '../decision/permit.ts';
import { needsOf, refuseUnseen, unlistedCatalog } from '../decision/needs.ts';
import { restrictedRequestOf, type RecordedQuestion } from './recorded-question.ts';

/** The verdict of a policy on a recorded request. */
export interface ReplayedVerdict {
  readonly allowed: boolean;
  /** The line that decides: of the refusal, or of the operation itself. */
  readonly rule: string | null;
  readonly reason: string;
  /** The refused right; of an allowed request its operation and object. */
  readonly action: Action;
  /** Canonical path. */
  readonly object: string;
}

/** Decides a request of the log as the gateway would, from what its record says. */
export function replayedVerdict(
  question: RecordedQuestion,
  policy: PolicySnapshot,
  circumstances: Circumstances,
): ReplayedVerdict {
  const { principal, asking, rights, described } = question;
  const permit = new SnapshotPermit(
    policy,
    principal,
    '',
    circumstances,
    restrictedRequestOf(question),
  );
  const own = { action: asking.operation.name, object: canonicalPath(asking.object) };
  let first: { readonly rule: string | null; readonly reason: string } | undefined;
  for (const need of needsOf(asking)) {
    const { enough, rule, reason } = judgeNeed(need, permit);
    const place = need.judged === 'anywhere' ? own.object : canonicalPath(need.object);
    if (!enough) return { allowed: false, rule, reason, action: need.action, object: place };
    first ??= { rule, reason };
  }
  for (const { action, object, branch } of rights) {
    const { allowed, rule, reason } = permit.verdict(action, object, branch);
    if (!allowed) return { allowed, rule, reason, action, object: canonicalPath(object) };
  }
  const unseen = described ? unseenReason(question, permit) : undefined;
  if (unseen !== undefined) return { allowed: false, rule: null, reason: unseen, ...own };
  return { allowed: true, rule: first?.rule ?? null, reason: first?.reason ?? '', ...own };
}

/** The settings of the catalog behind the proxy are not recorded: replay assumes the most permissive ones. */
const assumed = unlistedCatalog('checked');

/** Why a request that is only described is refused although the policy allows it. */
function unseenReason({ asking }: RecordedQuestion, permit: SnapshotPermit): string | undefined {
  try {
    refuseUnseen({ route: asking, permit, method: 'POST', headers: {} }, assumed);
    return undefined;
  } catch (error) {
    if (error instanceof CatalogError) return error.message;
    throw error;
  }
}
