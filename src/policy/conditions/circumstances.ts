import type { Action } from '../../protocol/operations/operation.ts';
import { valueSources, type JudgedValues, type RequestFacts, type Supposed } from './kinds.ts';

/** What the conditions of a request are judged by: a row of `kinds.ts` says where each value comes from. */
export type Circumstances = JudgedValues;

/** Nothing is known: every condition of an allow fails, every one of a deny is satisfied. */
export const noCircumstances: Circumstances = { context: new Map() };

/** Circumstances that are taken from the facts when a condition asks for them: most requests meet none. */
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

/** What is wrong with what is supposed of a request, sentence by sentence. */
export function supposedFaults(supposed: Supposed): readonly string[] {
  return valueSources.flatMap((source) => source.fault?.(supposed) ?? []);
}

/** The circumstances of an action that are supposed. As in a request, the branch is main where none is named. */
export function supposedCircumstances(action: Action, supposed: Supposed): Circumstances {
  const values: Partial<Record<keyof Circumstances, unknown>> = {};
  for (const source of valueSources) values[source.field] = source.suppose(supposed, action);
  return values as Circumstances;
}

/** Names of the values that a policy looks at, such as `ip` and `ctx.team`; null where that may be any. */
export type LookedAt = ReadonlySet<string> | null;

/** What of the circumstances of a recorded request a policy looks at. */
export interface RecordedCircumstances {
  /** Hidden values are missing: as bad for the caller as it can be. */
  readonly worst: Circumstances;
  /** Hidden values may be anything: as good as it can be. Undefined if none that the policy looks at is hidden. */
  readonly best: Circumstances | undefined;
  /** Names of the values that are hidden and that the policy looks at. */
  readonly hidden: readonly string[];
}

/** The circumstances of a recorded request, as far as a policy looks at them. */
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
