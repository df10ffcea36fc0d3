import type { LoadedPolicy } from './load.ts';

/** The variables of the conditions of a policy. */
export interface ConditionVariables {
  readonly ip: boolean;
  readonly time: boolean;
  /** Keys of the context; null where any may be looked at. */
  readonly context: ReadonlySet<string> | null;
}

/** Inputs of a decision besides principal, action, object and branch. A foreign model may use any. */
export function variablesOf({ snapshot, policies }: LoadedPolicy): ConditionVariables {
  if (snapshot.slow) return { ip: true, time: true, context: null };
  const terms = policies.flatMap(({ condition }) => condition?.terms ?? []);
  const keys = terms.flatMap((term) =>
    term.kind === 'value' && term.key !== null ? [term.key] : [],
  );
  return {
    ip: terms.some(({ kind }) => kind === 'ip'),
    time: terms.some(({ kind }) => kind === 'time' || kind === 'day'),
    context: new Set(keys),
  };
}
