import type { ObjectPath } from '../protocol/identifier.ts';
import type { Action } from '../protocol/operations/operation.ts';
import type { Principal } from '../protocol/principal.ts';
import { noCircumstances, type Circumstances } from './conditions/circumstances.ts';
import { decideBound } from './decide/restricted-verdict.ts';
import type { LoadedPolicy } from './load.ts';
import { summaryOfRestriction, type RestrictionSummary } from './settings/restriction-book.ts';
import { namesInLines } from './strangers.ts';

/** A principal that is allowed the action, and the line that allows it. */
interface Permitted {
  readonly principal: Principal;
  /** The id of the key; null for a name of the policy. */
  readonly key: string | null;
  readonly rule: string | null;
  /** The restrictions that bind it on the object. */
  readonly restrictions: readonly RestrictionSummary[];
}

/**
 * Every user, group and role of the policy (and `*`) that is allowed the action on the object,
 * and every key that is, sorted by name.
 * @param keys The principals of keys.
 */
export function principalsAllowed(
  policy: LoadedPolicy,
  action: Action,
  object: ObjectPath,
  circumstances: Circumstances = noCircumstances,
  keys: readonly Principal[] = [],
): readonly Permitted[] {
  const asking = [
    ...[...namesInLines(policy)].map((subject) => ({ principal: named(subject), key: null })),
    ...keys.map((principal) => ({ principal, key: keyId(principal) })),
  ];
  return asking.toSorted(byName).flatMap(({ principal, key }) => {
    const bound = decideBound(policy.snapshot, principal, action, object, circumstances);
    const { allowed, rule } = bound.verdict;
    const restrictions = bound.restrictions.map(summaryOfRestriction);
    return allowed ? [{ principal, key, rule, restrictions }] : [];
  });
}

type Credential = Pick<Permitted, 'principal' | 'key'>;

function byName(one: Credential, other: Credential): number {
  const [left, right] = [one, other].map(
    ({ principal, key }) => `${principal.subject}\n${key ?? ''}`,
  );
  return left! < right! ? -1 : 1;
}

function named(subject: string): Principal {
  return { subject, groups: [], roles: [], credential: { kind: 'key', id: '' } };
}

function keyId({ credential }: Principal): string {
  return credential.kind === 'key' ? credential.id : '';
}
