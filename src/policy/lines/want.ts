import type { ObjectPath } from '../../protocol/identifier.ts';
import { RightSet } from './right-set.ts';
import { auditRight, describeRights, everyRight, listRights } from './rights.ts';

/** The first segment of everything that is the gateway's own. */
export const RESERVED = 'system';

/** Whether the object is the reserved namespace or lies in it. */
export function isReserved(path: ObjectPath): boolean {
  return path[0] === RESERVED;
}

/** The sum of the lines that match an object. */
export interface Grants {
  readonly allow: RightSet;
  readonly deny: RightSet;
}

/**
 * A question about an object, in terms of the lines that match it. This is
 * where the semantics stand that go beyond one line of casbin:
 *
 * - A right is held if a line allows it and none denies it.
 * - Any right that is held on an object brings along those of the group
 *   `describe`, unless a line denies that very one.
 * - Those of the group `list` are always held: a listing answers everyone, with
 *   what may be seen.
 * - In the namespace `system` nothing of this counts: a right is held there
 *   if the right `audit` is allowed and not denied, and itself not denied.
 */
export interface Want {
  /** One of these has to be allowed and not denied … */
  readonly direct: RightSet;
  /** … or one of these not denied, while anything is allowed and not denied … */
  readonly implied: RightSet;
  /** … or this is not empty, because everyone holds these. */
  readonly given: RightSet;
  /** In the namespace `system`: one of these not denied, while `audit` is held. */
  readonly reserved: RightSet;
}

/** Whether the grants on an object answer the question with yes. */
export function holds(want: Want, { allow, deny }: Grants, reserved: boolean): boolean {
  if (reserved) {
    return auditRight.within(allow) && !auditRight.meets(deny) && !want.reserved.within(deny);
  }
  return (
    !want.given.within(RightSet.none) ||
    !want.direct.and(allow).within(deny) ||
    (!want.implied.within(deny) && !allow.within(deny))
  );
}

/** The question whether one right is held. */
export function wantRight(right: RightSet): Want {
  return {
    direct: right,
    implied: right.and(describeRights),
    given: right.and(listRights),
    reserved: right,
  };
}

/** The question whether anything is held: whether a listing shows the object. */
export const wantAnything: Want = {
  direct: everyRight,
  implied: describeRights,
  given: RightSet.none,
  reserved: auditRight,
};

/**
 * The question as a scope of a credential leaves it, on the objects of that
 * scope: its own rights and, as with a line, those of `describe`; in `system`
 * only if the scope has `audit`.
 */
export function narrowWant(want: Want, scope: RightSet): Want {
  return {
    direct: want.direct.and(scope),
    implied: want.implied,
    given: want.given,
    reserved: auditRight.within(scope) ? want.reserved : RightSet.none,
  };
}
