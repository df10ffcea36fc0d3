import type { BudgetLimits } from '../../protocol/budget.ts';
import type { OperationName } from '../../protocol/operations/operation-name.ts';
import type { Pattern } from '../lines/pattern.ts';
import type { RightSet } from '../lines/right-set.ts';
import type { AccessGroup } from '../../protocol/operations/operation.ts';
import { operations } from '../../protocol/operations/operations.ts';

/** Stands for every operation that no other entry names. */
const OTHERS = '*';

/** Cost of a request, by operation, access group or `*`; the most specific entry counts; 1 by default. */
export function costOf({ costs }: Pick<Limit, 'costs'>, operation: OperationName): number {
  const group: AccessGroup = operations[operation].access;
  return costs.get(operation) ?? costs.get(group) ?? costs.get(OTHERS) ?? 1;
}

export const LIMITS_FILE = 'limits.yaml';

/** The grouping of requests that share one counter. */
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

/** A token bucket: one unit of cost every `intervalMicros`, at most `burst` at once. */
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
  /** Budget of one request of the subjects; null for a limit that is not set. */
  readonly budget: Partial<BudgetLimits> | null;
  /** Cost by operation, access group or `*`, as it is written. */
  readonly costs: ReadonlyMap<string, number>;
  /** Effect on a request while the counters are unavailable. */
  readonly onStoreFailure: 'open' | 'closed';
}
