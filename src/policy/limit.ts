import type { BudgetLimits } from '../protocol/budget.ts';
import type { OperationName } from '../protocol/operation-name.ts';
import type { Pattern } from './pattern.ts';
import type { RightSet } from './right-set.ts';

/** The file of the limits. */
export const LIMITS_FILE = 'limits.yaml';

/** Whom a limit counts apart. */
export const limitScopes = [
  'subject',
  'group',
  'credential',
  'address',
  'network',
  'operation',
  'object',
  'all',
] as const;

export type LimitScope = (typeof limitScopes)[number];

/** So much of an operation's cost, as often as the rate says. */
export interface Rate {
  /** As it is written: `100/s`. */
  readonly text: string;
  readonly intervalMicros: number;
  readonly burst: number;
}

/** One limit of `limits.yaml`, understood. */
export interface Limit {
  readonly line: number;
  readonly name: string;
  /** Null for anyone. */
  readonly subjects: ReadonlySet<string> | null;
  readonly rights: RightSet;
  readonly objects: readonly Pattern[];
  readonly per: LimitScope;
  /** How many bits of an address make its network, by the version of IP. */
  readonly network: { readonly 4: number; readonly 6: number };
  readonly rate: Rate | null;
  readonly concurrency: number | null;
  /** What one request of the subjects may use; null where the limit says nothing of it. */
  readonly budget: Partial<BudgetLimits> | null;
  readonly cost: (operation: OperationName) => number;
  /** What becomes of a request while nothing can be counted. */
  readonly onStoreFailure: 'open' | 'closed';
}
