import type { ObjectPath } from '../protocol/identifier.ts';
import type { Action } from '../protocol/operation.ts';
import { noCircumstances } from './circumstances.ts';
import type { Circumstances } from './circumstances.ts';
import type { LoadedPolicy } from './load.ts';

/** A subject of the policy that may do what was asked about, and the line that lets it. */
export interface Permitted {
  readonly subject: string;
  readonly rule: string | null;
}

/** Every user, group and role that the policy names (and `*`) which may do this to the object, sorted by name. */
export function whoMay(
  policy: LoadedPolicy,
  action: Action,
  object: ObjectPath,
  circumstances: Circumstances = noCircumstances,
): readonly Permitted[] {
  const names = new Set<string>();
  for (const { subject } of policy.policies) names.add(subject);
  for (const { member, role } of policy.roles) names.add(member).add(role);
  return [...names].sort().flatMap((subject) => {
    const verdict = policy.snapshot.decide(asking(subject), action, object, circumstances);
    return verdict.allowed ? [{ subject, rule: verdict.rule }] : [];
  });
}

function asking(subject: string) {
  return { subject, groups: [], roles: [], credential: { kind: 'key', id: '' } } as const;
}
