import type { Condition, Effect } from '../conditions/condition.ts';
import type { Pattern } from './pattern.ts';
import type { RightSet } from './right-set.ts';

/** A `p` line of `policy.csv`, understood. */
export interface PolicyLine {
  /** Counted from 1. */
  readonly line: number;
  readonly subject: string;
  readonly pattern: Pattern;
  /** As it is written: an operation, an access group or `*`. */
  readonly action: string;
  readonly rights: RightSet;
  readonly effect: Effect;
  /** Undefined for a line that always applies. */
  readonly condition: Condition | undefined;
}

/** A `g` line of `policy.csv`: the member has all rights of the role. */
export interface RoleLine {
  readonly line: number;
  readonly member: string;
  readonly role: string;
}

/** The file that the lines stand in. */
export const POLICY_FILE = 'policy.csv';

/** The file of the Casbin model. */
export const MODEL_FILE = 'model.conf';

/** The name of a deciding line: `policy.csv:12`. */
export function ruleName(line: number): string {
  return `${POLICY_FILE}:${line}`;
}
