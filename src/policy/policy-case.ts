import type { ObjectPath } from '../protocol/identifier.ts';
import type { Action } from '../protocol/operation.ts';
import type { Circumstances } from './circumstances.ts';

/** The file of a policy's own tests. */
export const CASES_FILE = 'cases.yaml';

/** One expectation: this subject, doing this to that, is allowed or denied. */
export interface PolicyCase {
  readonly line: number;
  readonly subject: string;
  readonly groups: readonly string[];
  readonly roles: readonly string[];
  readonly action: Action;
  readonly object: ObjectPath;
  readonly objectText: string;
  readonly circumstances: Circumstances;
  readonly expect: 'allow' | 'deny';
  readonly because: string;
}
