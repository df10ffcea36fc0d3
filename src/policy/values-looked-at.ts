import type { LookedAt } from './conditions/circumstances.ts';
import type { LoadedPolicy } from './load.ts';

/**
 * Names of the values of a request that may decide beside principal, action, object and branch.
 * Under a foreign model that may be any.
 */
export function valuesLookedAt({ snapshot, policies }: LoadedPolicy): LookedAt {
  if (snapshot.slow) return null;
  const terms = policies.flatMap(({ condition }) => condition?.terms ?? []);
  const names = terms.map(({ looksAt }) => looksAt);
  return new Set(names.filter((name) => name !== 'branch'));
}
