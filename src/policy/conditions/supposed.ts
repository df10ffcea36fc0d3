import { MAIN_BRANCH, isAboutBranch } from '../../protocol/branch.ts';
import type { Action } from '../../protocol/operations/operation.ts';
import { parseAddress } from './address.ts';
import type { Circumstances } from './circumstances.ts';

/** What someone who asks about a policy supposes of a request, as it is written down. */
export interface Supposed {
  readonly ip?: string | undefined;
  /** RFC 3339. */
  readonly time?: string | undefined;
  readonly context: ReadonlyMap<string, string>;
  readonly branch?: string | undefined;
}

const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;

/** Milliseconds since 1970 of a moment as RFC 3339 writes it; undefined if it is none. */
export function parseMoment(text: string): number | undefined {
  const millis = MOMENT.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(millis) ? undefined : millis;
}

/** What is wrong with what is supposed, sentence by sentence. */
export function supposedFaults({ ip, time, context }: Supposed): readonly string[] {
  const faults: string[] = [];
  if (ip !== undefined && parseAddress(ip) === undefined) {
    faults.push(`ip is ${JSON.stringify(ip)}: write an address such as 10.0.0.7`);
  }
  if (time !== undefined && parseMoment(time) === undefined) {
    faults.push(`time is ${JSON.stringify(time)}: write a moment such as 2026-01-31T18:30:00Z`);
  }
  const capital = [...context.keys()].find((key) => key !== key.toLowerCase());
  if (capital !== undefined) {
    faults.push(`keys of the context are in lower case: write ${capital.toLowerCase()}`);
  }
  return faults;
}

/** The circumstances of an action that are supposed. As in a request, the branch is main where none is named. */
export function supposedCircumstances(
  action: Action,
  { ip, time, context, branch }: Supposed,
): Circumstances {
  const named = branch === '' ? MAIN_BRANCH : branch;
  return {
    ip,
    time: time === undefined ? undefined : parseMoment(time),
    context,
    branch: named ?? (isAboutBranch(action) ? MAIN_BRANCH : undefined),
  };
}
