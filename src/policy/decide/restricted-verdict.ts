import type { ObjectPath } from '../../protocol/identifier.ts';
import type { OperationName } from '../../protocol/operations/operation-name.ts';
import type { Action } from '../../protocol/operations/operation.ts';
import { isOperationName, operations } from '../../protocol/operations/operations.ts';
import type { Principal } from '../../protocol/principal.ts';
import { refusedUnderRestrictions } from '../../protocol/restrictions.ts';
import { noCircumstances, type Circumstances } from '../conditions/circumstances.ts';
import { restrictionRule } from '../settings/restriction-book.ts';
import type { WrittenRestriction } from '../settings/restrictions.ts';
import type { PolicySnapshot, Verdict } from './snapshot.ts';

interface Right {
  readonly subject: string;
  readonly action: Action;
  readonly object: ObjectPath;
  /** The operation of the request. */
  readonly asked?: OperationName | undefined;
}

/**
 * The verdict on a table that restrictions bind: what cannot apply them is refused.
 * @param isRouted Whether the route asks for the right, so that its backend may apply them.
 */
export function underRestrictions(
  verdict: Verdict,
  bound: readonly WrittenRestriction[],
  { subject, action, object, asked }: Right,
  isRouted: () => boolean,
): Verdict {
  const [first] = bound;
  if (first === undefined || !verdict.allowed || isApplied(action, isRouted)) return verdict;
  const names = bound.map(({ name }) => name);
  return {
    allowed: false,
    rule: restrictionRule(first),
    reason: 'a restriction cannot be applied to it',
    sentence: refusedUnderRestrictions(subject, action, object, names, asked),
  };
}

function isApplied(action: Action, isRouted: () => boolean): boolean {
  if (!isOperationName(action)) return false;
  const { restricted } = operations[action];
  return restricted === 'harmless' || (restricted === 'applied' && isRouted());
}

/** A verdict, and the restrictions under which it is carried out. */
export interface BoundVerdict {
  readonly verdict: Verdict;
  /** In the order of the file; none for an operation that is not about a table. */
  readonly restrictions: readonly WrittenRestriction[];
}

/**
 * Decides as the gateway does for a route that asks for the action. An access group is decided by the
 * lines alone: its operations differ in what restrictions allow.
 */
export function decideBound(
  snapshot: PolicySnapshot,
  principal: Principal,
  action: Action,
  object: ObjectPath,
  circumstances: Circumstances = noCircumstances,
): BoundVerdict {
  const decided = snapshot.decide(principal, action, object, circumstances);
  const isOperation = isOperationName(action);
  if (isOperation && operations[action].object !== 'table') {
    return { verdict: decided, restrictions: [] };
  }
  const restrictions = snapshot.restrictions.binding(principal, object);
  const asked = { subject: principal.subject, action, object };
  const verdict = isOperation
    ? underRestrictions(decided, restrictions, asked, () => true)
    : decided;
  return { verdict, restrictions };
}
