import type { DecidedRequest, Surroundings } from '../../audit/search/decided-request.ts';
import { microsOf } from '../../audit/record/time.ts';
import type { Circumstances } from '../../policy/conditions/circumstances.ts';
import type { ConditionVariables } from '../../policy/condition-variables.ts';
import { HIDDEN } from '../decision/redact.ts';

const MINUTE_MILLIS = 60_000;

/** What a request of the log was surrounded by. */
export interface RecordedCircumstances {
  /** Where what was redacted is missing: as bad for the caller as it can be. */
  readonly worst: Circumstances;
  /** Where it may be anything: as good as it can be. Undefined where nothing that counts was redacted. */
  readonly best: Circumstances | undefined;
  /** The keys that were redacted and that the policy looks at. */
  readonly hidden: readonly string[];
}

/** The circumstances of a record, as far as a policy looks at them. */
export function circumstancesOfRecord(
  surroundings: Surroundings,
  variables: ConditionVariables,
): RecordedCircumstances {
  const { ip, context } = surroundings;
  const entries = Object.entries(context);
  const counts = ([key]: [string, string]): boolean => variables.context?.has(key) ?? true;
  const hidden = entries
    .filter(([, value]) => value === HIDDEN)
    .filter(counts)
    .map(([key]) => key);
  const known = entries.filter(([, value]) => value !== HIDDEN);
  const worst = { ip: ip ?? undefined, time: millisOf(surroundings), context: new Map(known) };
  const best = hidden.length === 0 ? undefined : { ...worst, openContext: new Set(hidden) };
  return { worst, best, hidden };
}

/** The same for all requests of the same key for which a policy cannot differ. */
export function circumstancesKey(request: DecidedRequest, variables: ConditionVariables): string {
  const { ip, time, context } = variables;
  if (!ip && !time && context?.size === 0) return '';
  const surroundings = request.surroundings();
  const entries = Object.entries(surroundings.context).filter(([key]) => context?.has(key) ?? true);
  // Conditions tell minutes apart, no seconds.
  const minute = time ? Math.floor(millisOf(surroundings) / MINUTE_MILLIS) : null;
  return JSON.stringify([ip ? surroundings.ip : null, minute, entries]);
}

/** When the request came, in milliseconds since 1970. */
function millisOf({ time, durationMicros }: Surroundings): number {
  return Number((microsOf(time) - durationMicros) / 1000n);
}
