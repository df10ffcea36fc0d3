import type { Action } from '../../protocol/operations/operation.ts';
import { valueSources, type JudgedValues, type RequestFacts, type Supposed } from './kinds.ts';

/** The values that conditions of a request are judged by. The rows of `kinds.ts` define their sources. */
export type Circumstances = JudgedValues;

/** Nothing is known: every condition of an allow fails, every one of a deny is satisfied. */
export const noCircumstances: Circumstances = { context: new Map() };

/** Circumstances that are computed from the facts on first use: most requests meet no condition. */
class LiveCircumstances implements Circumstances {
  declare readonly context: Circumstances['context'];
  readonly facts: RequestFacts;
  readonly branch: string | null | undefined;
  readonly open: ReadonlySet<string> | undefined;

  constructor(facts: RequestFacts, branch?: string | null, open?: ReadonlySet<string>) {
    this.facts = facts;
    this.branch = branch;
    this.open = open;
  }
}

for (const { field, live } of valueSources) {
  if (live === undefined) continue;
  Object.defineProperty(LiveCircumstances.prototype, field, {
    get(this: LiveCircumstances) {
      return live(this.facts);
    },
  });
}

/** The circumstances of a request, as far as it has been read. Its branch is missing: see `onBranch`. */
export function circumstancesOf(facts: RequestFacts): Circumstances {
  return new LiveCircumstances(facts);
}

/** The same circumstances on a branch: null while it is open, undefined where there is none. */
export function onBranch(
  circumstances: Circumstances,
  branch: string | null | undefined,
): Circumstances {
  if (!(circumstances instanceof LiveCircumstances)) return { ...circumstances, branch };
  return new LiveCircumstances(circumstances.facts, branch, circumstances.open);
}

/** Faults of supposed values, one sentence each. */
export function supposedFaults(supposed: Supposed): readonly string[] {
  return valueSources.flatMap((source) => source.fault?.(supposed) ?? []);
}

/** Supposed circumstances of an action. As in a request, the default branch is main. */
export function supposedCircumstances(action: Action, supposed: Supposed): Circumstances {
  const values: Partial<Record<keyof Circumstances, unknown>> = {};
  for (const source of valueSources) values[source.field] = source.suppose(supposed, action);
  return values as Circumstances;
}

/** Names of the values that a policy reads, such as `ip` and `ctx.team`; null if it may read any. */
export type LookedAt = ReadonlySet<string> | null;

/** The circumstances of a recorded request that a policy reads. */
export interface RecordedCircumstances {
  /** Hidden values count as missing: the worst case for the caller. */
  readonly worst: Circumstances;
  /** Hidden values count as favourable: the best case. Undefined if the policy reads no hidden value. */
  readonly best: Circumstances | undefined;
  /** Names of the hidden values that the policy reads. */
  readonly hidden: readonly string[];
}

/** Restores the circumstances of a recorded request, limited to the values that a policy reads. */
export function recordedCircumstances(
  facts: RequestFacts,
  lookedAt: LookedAt,
): RecordedCircumstances {
  const worst = circumstancesOf(facts);
  const hidden = hiddenNames(facts, lookedAt);
  const open = new Set(hidden);
  const best = open.size === 0 ? undefined : new LiveCircumstances(facts, undefined, open);
  return { worst, best, hidden };
}

/** A text that is the same for requests that a policy's conditions cannot tell apart. */
export function circumstancesKey(facts: RequestFacts, lookedAt: LookedAt): string {
  const values = circumstancesOf(facts);
  const looksAt = (name: string): boolean => lookedAt?.has(name) ?? true;
  const alike = valueSources.map((source) => source.alike?.(values, looksAt));
  return JSON.stringify([alike, hiddenNames(facts, lookedAt)]);
}

function hiddenNames(facts: RequestFacts, lookedAt: LookedAt): readonly string[] {
  const names = valueSources.flatMap((source) => source.hidden?.(facts) ?? []);
  return names.filter((name) => lookedAt?.has(name) ?? true);
}
