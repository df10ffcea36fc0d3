import type { ObjectPath } from '../protocol/identifier.ts';
import type { Operation } from '../protocol/operation.ts';
import type { CommitAction, CommitFacts } from './commit-facts.ts';
import type { CommitRule, RequirementName, RuleSet } from './commit-rule.ts';
import { RuleRefusal } from './refusal.ts';
import { brokenBy } from './requirements.ts';
import { rulesOn } from './rule-scope.ts';

/** What route and headers tell of a commit. */
export interface CommitRoute {
  readonly operation: Operation;
  readonly object: ObjectPath;
  /** The second object of the route. */
  readonly target?: ObjectPath;
  /** The mode of the query, `null` where there is none. */
  readonly mode: string | null;
  /** The length of the body as its header says it; null where it does not. */
  readonly contentLength: bigint | null;
  readonly context: ReadonlyMap<string, string>;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** The keys that route and headers decide. */
const decided: readonly RequirementName[] = ['context', 'freeze', 'no_drop', 'max_bytes'];

const actions: Partial<Record<Operation['name'], CommitAction>> = {
  DropTable: 'drop',
  DeregisterTable: 'deregister',
  RenameTable: 'rename',
};

/**
 * Judges a commit by what its route and headers tell, so that a body need not be sent for
 * nothing. Whatever else a rule demands is judged where the table is known.
 * @throws RuleRefusal for the first rule that does not let it in.
 */
export function judgeRoute({ rules }: RuleSet, route: CommitRoute): void {
  const { operation, object } = route;
  if (rules.length === 0 || !operation.mutates || operation.object !== 'table') return;
  if (object.length === 0) return;
  const facts = factsOf(route);
  for (const rule of rulesOn(rules, facts)) {
    if (!rule.enforced) continue;
    const fault = brokenBy(reduced(rule), facts) ?? lengthFault(rule, route);
    if (fault !== undefined) throw new RuleRefusal(rule, object, fault);
  }
}

function factsOf({ operation, object, target, mode, context, now }: CommitRoute): CommitFacts {
  const overwrites = operation.name === 'InsertIntoTable' && mode === 'overwrite';
  return {
    table: object,
    operation: operation.name,
    action: overwrites ? 'overwrite' : (actions[operation.name] ?? 'commit'),
    classes: new Set(overwrites ? (['modify'] as const) : []),
    branch: 'main',
    keeper: 'here',
    change: null,
    ...(target !== undefined && { target }),
    now,
    // A body may bring what the headers lack.
    context: operation.body === 'json' || operation.body === 'map' ? null : context,
  };
}

function reduced(rule: CommitRule): CommitRule {
  const kept = Object.entries(rule.require).filter(([name]) =>
    decided.some((known) => known === name),
  );
  return { ...rule, require: Object.fromEntries(kept) };
}

function lengthFault(
  { require: { max_bytes: most } }: CommitRule,
  { operation, contentLength }: CommitRoute,
): string | undefined {
  if (most === undefined || contentLength === null || operation.body !== 'arrow') return undefined;
  return contentLength > most
    ? `its body has ${contentLength} bytes, and at most ${most} may be added`
    : undefined;
}
