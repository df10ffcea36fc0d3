import { mayBeAboutBranch } from '../../protocol/branch.ts';
import type { Action, Operation } from '../../protocol/operations/operation.ts';
import { isOperationName, operations } from '../../protocol/operations/operations.ts';
import { ANY, formatPattern } from './pattern.ts';
import type { PolicyFinding } from './policy-error.ts';
import { POLICY_FILE, type PolicyLine } from './policy-line.ts';
import { auditRight, rightsOfAction } from './rights.ts';
import { RESERVED } from './want.ts';

type InertRule = (line: PolicyLine) => string | undefined;

/**
 * Finds valid lines that can never decide anything. Their author believes that they are in force.
 */
export function inertLines(policies: readonly PolicyLine[]): readonly PolicyFinding[] {
  return policies.flatMap((one) => {
    const texts = rules.map((rule) => rule(one)).filter((text) => text !== undefined);
    return texts.slice(0, 1).map((text) => ({ file: POLICY_FILE, line: one.line, text }));
  });
}

const rules: readonly InertRule[] = [
  ({ action, effect, pattern, rights }) => {
    if (effect === 'deny' || pattern.segments[0] !== RESERVED || auditRight.meets(rights)) {
      return undefined;
    }
    return `in the namespace system only audit allows anything: ${action} allows nothing there`;
  },
  ({ action, pattern }) => {
    const [first = ANY] = pattern.segments;
    if (action !== 'audit' || first === ANY || first === RESERVED) return undefined;
    return `audit applies in the namespace system only, never on ${formatPattern(pattern)}`;
  },
  ({ action, pattern }) => {
    if (pattern.segments.length > 0 || pattern.below) return undefined;
    if (someOperation(action, ({ object }) => object !== 'table' && object !== 'transaction')) {
      return undefined;
    }
    return `the root is no table: ${action} never applies to /`;
  },
  ({ action, pattern }) => {
    if (pattern.segments.length === 0 || someOperation(action, isAboutObject)) return undefined;
    return `${action} concerns no object: it applies to / only, never to ${formatPattern(pattern)}`;
  },
  ({ action, condition }) => {
    const term = condition?.terms.find(({ looksAt }) => looksAt === 'branch');
    if (term === undefined || rightsOfAction(action)!.some(mayBeAboutBranch)) return undefined;
    return `${action} is about no branch, so it can never be decided by ${term.text}`;
  },
];

/** Whether an action has an operation that passes the test; an action without operations always passes. */
function someOperation(action: string, test: (operation: Operation) => boolean): boolean {
  return rightsOfAction(action)!.some((name: Action) =>
    isOperationName(name) ? test(operations[name]) : true,
  );
}

/** Only operations on the whole service are always judged at the root. */
function isAboutObject({ object, objectsInBody }: Operation): boolean {
  return object !== 'none' || objectsInBody !== undefined;
}
