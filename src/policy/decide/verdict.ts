import type { ObjectPath } from '../../protocol/identifier.ts';
import type { Action } from '../../protocol/operations/operation.ts';
import { ruleName } from '../lines/policy-line.ts';
import type { Effect } from '../conditions/condition.ts';
import type { RightSet } from '../lines/right-set.ts';
import {
  accessGroups,
  auditRight,
  describeRights,
  rightsOfAction,
  rightNames,
  rightsOf,
} from '../lines/rights.ts';
import { wantsUnder, type CompiledScope } from '../lines/scopes.ts';
import type { Verdict } from './snapshot.ts';
import { holds, isReserved, wantRight, type Grants, type Want } from '../lines/want.ts';

/** The grants on an object, and which lines they come from. */
export interface TracedGrants extends Grants {
  /** The number of the first line that gives, or takes, one of the rights. */
  line(rights: RightSet, effect: Effect): number | undefined;
}

const wants = new Map<string, Want>(rightNames.map((name) => [name, wantRight(rightsOf(name))]));

const actions = new Set<string>([...rightNames, ...accessGroups]);

/** The single rights that an action needs; undefined for an unknown action. */
export function neededFor(action: Action): readonly Action[] | undefined {
  return actions.has(action) ? rightsOfAction(action) : undefined;
}

/** The question whether a single right is held. */
export function wantFor(right: Action): Want {
  return wants.get(right)!;
}

/** Why a request is refused before any line is looked at; undefined if it is not. */
export function requestFault(subject: string, object: ObjectPath): string | undefined {
  if (subject === '') return 'the request has no subject';
  return object.includes('') ? 'the request names no object' : undefined;
}

/** The verdict about a single right, from the lines that match the object. */
export function judge(
  grants: TracedGrants,
  right: Action,
  object: ObjectPath,
  scopes: readonly CompiledScope[] | undefined,
): Verdict {
  const want = wantFor(right);
  const single = rightsOf(right);
  const reserved = isReserved(object);
  if (!holds(want, grants, reserved)) return refusal(grants, right, single, reserved);
  if (scopes !== undefined) {
    const left = wantsUnder(want, scopes, object);
    if (!left.some((narrowed) => holds(narrowed, grants, reserved))) {
      return denied(`the scopes of this credential do not cover ${right}`);
    }
  }
  return allowed(right, allowingLine(grants, single, reserved));
}

/** The verdict about an action of several rights: the first refusal, else the first verdict. */
export function judgeAll(rights: readonly Action[], judgeOne: (right: Action) => Verdict): Verdict {
  const verdicts: Verdict[] = [];
  for (const right of rights) {
    const verdict = judgeOne(right);
    if (!verdict.allowed) return verdict;
    verdicts.push(verdict);
  }
  return verdicts[0] ?? denied('the action stands for no right');
}

/** A refusal that no line decided. */
export function denied(reason: string): Verdict {
  return { allowed: false, rule: null, reason };
}

function refusal(
  grants: TracedGrants,
  right: Action,
  single: RightSet,
  reserved: boolean,
): Verdict {
  const line =
    grants.line(single, 'deny') ?? (reserved ? grants.line(auditRight, 'deny') : undefined);
  if (line !== undefined) {
    return { allowed: false, rule: ruleName(line), reason: `the policy denies ${right}` };
  }
  if (reserved) return denied('the namespace system needs the action audit');
  return denied(`the policy does not allow ${right}`);
}

function allowed(right: Action, line: number | undefined): Verdict {
  const rule = line === undefined ? null : ruleName(line);
  return { allowed: true, rule, reason: `the policy allows ${right}` };
}

/** The line of the right itself; else, where another right brings it along, the line of that. */
function allowingLine(
  grants: TracedGrants,
  single: RightSet,
  reserved: boolean,
): number | undefined {
  if (reserved) return grants.line(auditRight, 'allow');
  const own = grants.line(single, 'allow');
  if (own !== undefined || !single.meets(describeRights)) return own;
  return grants.line(grants.allow.without(grants.deny), 'allow');
}
