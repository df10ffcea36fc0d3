import type { ObjectPath } from '../protocol/identifier.ts';
import type { Action } from '../protocol/operation.ts';
import type { Principal } from '../protocol/principal.ts';
import { noCircumstances } from './circumstances.ts';
import type { Circumstances } from './circumstances.ts';
import type { LoadedPolicy } from './load.ts';
import { namesInLines } from './strangers.ts';

/** Somebody who may do what was asked about, and the line that allows it. */
export interface Permitted {
  readonly principal: Principal;
  /** The id of the key that it needs; null for a name of the policy, whatever proves it. */
  readonly key: string | null;
  readonly rule: string | null;
}

/**
 * Every user, group and role that the policy names (and `*`) which may do this to the object,
 * and every key that may, sorted by name.
 * @param keys The principals of keys.
 */
export function whoMay(
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
    const verdict = policy.snapshot.decide(principal, action, object, circumstances);
    return verdict.allowed ? [{ principal, key, rule: verdict.rule }] : [];
  });
}

type Asking = Pick<Permitted, 'principal' | 'key'>;

function byName(one: Asking, other: Asking): number {
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
