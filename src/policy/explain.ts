import { canonicalPath, type ObjectPath } from '../protocol/identifier.ts';
import type { Action } from '../protocol/operations/operation.ts';
import type { Principal } from '../protocol/principal.ts';
import { noCircumstances, type Circumstances } from './conditions/circumstances.ts';
import { failedTerms } from './conditions/condition.ts';
import type { LoadedPolicy } from './load.ts';
import { ANY, formatPattern, patternMatches, EVERYONE, type Pattern } from './lines/pattern.ts';
import { ruleName, type PolicyLine } from './lines/policy-line.ts';
import { rightsOf } from './lines/rights.ts';
import { RoleGraph } from './lines/role-graph.ts';
import { decideBound } from './decide/restricted-verdict.ts';
import type { Verdict } from './decide/snapshot.ts';
import { summaryOfRestriction, type RestrictionSummary } from './settings/restriction-book.ts';

/** A verdict, and the changes that would reverse it. */
export interface Explanation {
  readonly verdict: Verdict;
  /** For a refusal: the nearest allow line, and which condition fails. Null for an allow, and if no line is near. */
  readonly nearest: NearMiss | null;
  /** The restrictions that bind the principal on the object. */
  readonly restrictions: readonly RestrictionSummary[];
}

export interface NearMiss {
  readonly rule: string;
  /** One sentence. */
  readonly text: string;
}

/** Decides as the gateway does, and names the nearest allow line of a refusal. */
export function explain(
  policy: LoadedPolicy,
  principal: Principal,
  action: Action,
  object: ObjectPath,
  circumstances: Circumstances = noCircumstances,
): Explanation {
  const bound = decideBound(policy.snapshot, principal, action, object, circumstances);
  const { allowed, rule, reason } = bound.verdict;
  const restrictions = bound.restrictions.map(summaryOfRestriction);
  const isOfLines = restrictions.every((one) => one.rule !== rule);
  const nearest =
    allowed || !isOfLines ? null : nearMiss(policy, principal, action, object, circumstances);
  return { verdict: { allowed, rule, reason }, nearest, restrictions };
}

interface Candidate {
  readonly line: PolicyLine;
  readonly subject: boolean;
  readonly action: boolean;
  readonly object: boolean;
  /** The terms of its condition that are not met. */
  readonly failed: readonly string[];
  /** How many segments of the object the pattern shares from the left. */
  readonly shared: number;
}

function nearMiss(
  { policies, roles }: LoadedPolicy,
  { subject, groups, roles: own }: Principal,
  action: Action,
  object: ObjectPath,
  circumstances: Circumstances,
): NearMiss | null {
  const names = new RoleGraph(roles).closure([subject, ...groups, ...own, EVERYONE]);
  const rights = rightsOf(action);
  let best: Candidate | undefined;
  for (const line of policies) {
    if (line.effect !== 'allow' || rights === undefined) continue;
    const candidate = {
      line,
      subject: names.has(line.subject),
      action: rights.within(line.rights),
      object: patternMatches(line.pattern, object),
      failed: line.condition ? failedTerms(line.condition, 'allow', circumstances) : [],
      shared: sharedSegments(line.pattern, object),
    };
    if (!isNear(candidate)) continue;
    if (best === undefined || nearness(candidate) > nearness(best)) best = candidate;
  }
  if (best === undefined) return null;
  return { rule: ruleName(best.line.line), text: missText(best, subject, action, object) };
}

function met({ subject, action, object }: Candidate): number {
  return [subject, action, object].filter(Boolean).length;
}

/** A line has to have more in common with the request than its subject or its action. */
function isNear(candidate: Candidate): boolean {
  return met(candidate) > 1 || (met(candidate) === 1 && candidate.shared > 0);
}

/** The fewer things lack the nearer; then the lines of the principal, then the deeper patterns. */
function nearness(candidate: Candidate): number {
  const { subject, failed, shared } = candidate;
  return met(candidate) + (subject ? 0.5 : 0) - (failed.length > 0 ? 0.25 : 0) + shared / 10_000;
}

function sharedSegments({ segments }: Pattern, object: ObjectPath): number {
  const end = segments.findIndex((segment, index) => segment !== ANY && segment !== object[index]);
  return Math.min(end === -1 ? segments.length : end, object.length);
}

function missText(
  { line, subject, action, object, failed }: Candidate,
  asking: string,
  requested: Action,
  path: ObjectPath,
): string {
  const lacks = [
    subject ? '' : `it is about ${line.subject}, which does not include ${asking}`,
    action ? '' : `it allows ${line.action}, not ${requested}`,
    object ? '' : `${formatPattern(line.pattern)} does not match ${canonicalPath(path)}`,
    failed.length === 0 ? '' : `its condition fails: ${failed.join(' and ')}`,
  ].filter((text) => text !== '');
  if (lacks.length > 0) return lacks.join('; ');
  return 'it allows this, but something else takes it away';
}
