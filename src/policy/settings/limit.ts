import type { BudgetLimits } from '../../protocol/budget.ts';
import type { OperationName } from '../../protocol/operations/operation-name.ts';
import type { Pattern } from '../lines/pattern.ts';
import type { RightSet } from '../lines/right-set.ts';
import type { AccessGroup } from '../../protocol/operations/operation.ts';
import { operations } from '../../protocol/operations/operations.ts';

/** Stands for every operation that no other entry names. */
const OTHERS = '*';

/** What a request costs, by operation, access group or `*`; the nearest entry counts, and 1 where there is none. */
export function costOf(entries: ReadonlyMap<string, number>): (operation: OperationName) => number {
  return (operation) => {
    const group: AccessGroup = operations[operation].access;
    return entries.get(operation) ?? entries.get(group) ?? entries.get(OTHERS) ?? 1;
  };
}

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
