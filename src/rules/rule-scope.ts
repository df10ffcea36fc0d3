import type { ObjectPath } from '../protocol/identifier.ts';
import type { CommitFacts } from './commit-facts.ts';
import type { CommitRule } from './commit-rule.ts';

/** What says which rules a commit is judged by. */
export type Scope = Pick<CommitFacts, 'table' | 'operation' | 'classes'>;

/**
 * The rules that a commit is judged by: those that cover its table and are about the
 * operation, or about what a Lance commit turns out to be.
 * @param unless A path whose rules have had their say.
 */
export function rulesOn(
  rules: readonly CommitRule[],
  scope: Scope,
  unless?: ObjectPath,
): readonly CommitRule[] {
  return rules.filter(
    (rule) =>
      rule.covers(scope.table) &&
      !(unless !== undefined && rule.covers(unless)) &&
      concerns(rule, scope),
  );
}

function concerns(
  { actions }: Pick<CommitRule, 'actions'>,
  { operation, classes }: Scope,
): boolean {
  if (actions === null || actions.has(operation)) return true;
  for (const action of classes) if (actions.has(action)) return true;
  return false;
}
