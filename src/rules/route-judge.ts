import type { ObjectPath } from '../protocol/identifier.ts';
import type { Action, Operation } from '../protocol/operations/operation.ts';
import { rulesOn, type CommitAction, type CommitFacts } from './commit-facts.ts';
import { RuleRefusal, type CommitRule, type RuleSet } from './commit-rule.ts';
import { brokenBy, routeRequirements } from './requirements.ts';

/** Facts of a commit that route and headers contain. */
export interface CommitRoute {
  readonly operation: Operation;
  readonly object: ObjectPath;
  /** The second object of the route. */
  readonly target?: ObjectPath;
  /** The mode of the query, `null` where there is none. */
  readonly mode: string | null;
  /** The declared length of the body; null if there is none. */
  readonly contentLength: bigint | null;
  readonly context: ReadonlyMap<string, string>;
  /** Whether a remote backend stores the table: no later check follows. */
  readonly isRemote: () => boolean;
  /** Milliseconds since 1970. */
  readonly now: number;
}

const actions: Partial<Record<Operation['name'], CommitAction>> = {
  DropTable: 'drop',
  DeregisterTable: 'deregister',
  RenameTable: 'rename',
};

/**
 * Judges a commit by its route and headers, before its body is sent. The engine judges the other
 * requirements, because it knows the table.
 * @throws RuleRefusal for the first rule that does not let it in.
 */
export function judgeRoute({ rules }: RuleSet, route: CommitRoute): void {
  const { operation, object } = route;
  if (rules.length === 0 || !operation.mutates || operation.object !== 'table') return;
  if (object.length === 0) return;
  const facts = factsOf(route);
  for (const rule of rulesOn(rules, facts)) {
    if (!rule.enforced) continue;
    const fault = brokenBy(rule, facts, routeRequirements) ?? lengthFault(rule, route);
    if (fault !== undefined) throw new RuleRefusal(rule, object, fault);
  }
}

function factsOf(route: CommitRoute): CommitFacts {
  const { operation, object, target, context, now } = route;
  const classes = overwriteOf(route);
  return {
    table: object,
    operation: operation.name,
    action: classes.length > 0 ? 'overwrite' : (actions[operation.name] ?? 'commit'),
    classes: new Set(classes),
    branch: 'main',
    keeper: 'here',
    change: null,
    ...(target !== undefined && { target }),
    now,
    // The body may contain keys that the headers lack.
    context: operation.body === 'json' || operation.body === 'map' ? null : context,
  };
}

/** Actions that an overwrite counts as; none for other modes. The engine judges whether there is a table to overwrite. */
function overwriteOf({ operation, mode, isRemote }: CommitRoute): readonly Action[] {
  if (mode !== 'overwrite') return [];
  if (operation.name === 'InsertIntoTable') return ['modify'];
  return operation.name === 'CreateTable' && isRemote() ? ['drop', 'DropTable'] : [];
}

function lengthFault(
  { require: { max_bytes: most } }: CommitRule,
  { operation, contentLength, isRemote }: CommitRoute,
): string | undefined {
  if (most === undefined || operation.body !== 'arrow') return undefined;
  if (contentLength === null) {
    return isRemote()
      ? `its body does not say how long it is, and at most ${most} bytes may be added`
      : undefined;
  }
  return contentLength > most
    ? `its body has ${contentLength} bytes, and at most ${most} may be added`
    : undefined;
}
