import { canonicalPath, type ObjectPath } from '../protocol/identifier.ts';
import type { Action } from '../protocol/operations/operation.ts';
import { isOperationName, operationsOf } from '../protocol/operations/operations.ts';
import type { Principal } from '../protocol/principal.ts';
import { actionsOf, patternPlaces } from './access-diff.ts';
import { lineOfRule, linesOfText } from './lines/line-text.ts';
import { ANY, EVERYONE, formatPattern, type Pattern } from './lines/pattern.ts';
import { ruleName } from './lines/policy-line.ts';
import { accessGroups } from './lines/rights.ts';
import { RoleGraph } from './lines/role-graph.ts';
import type { LoadedPolicy } from './load.ts';
import { COMMITS_FILE } from '../rules/commit-rule.ts';
import { roleSources, type RoleSource } from './role-sources.ts';
import { LIMITS_FILE } from './settings/limit.ts';
import { summaryOfRestriction, type RestrictionSummary } from './settings/restriction-book.ts';
import { principalsAllowed } from './who.ts';

/** Actions on an object that one line allows or denies. */
interface EffectiveRight {
  /** A pattern of a line, or the path of an object. */
  readonly object: string;
  readonly effect: 'allow' | 'deny';
  /** `*` for all; else access groups, and operations that no listed group contains. */
  readonly actions: readonly string[];
  /** `policy.csv:12`. */
  readonly rule: string;
  readonly text: string | null;
}

/** A line that applies only where its condition holds. */
interface ConditionalLine {
  readonly rule: string;
  readonly text: string;
}

/** A restriction with the tables that it is about. */
type BoundRestriction = RestrictionSummary & { readonly tables: readonly string[] };

/** Everything that a policy says of one caller, without circumstances. */
export interface CallerRights {
  readonly roles: readonly RoleSource[];
  readonly rights: readonly EffectiveRight[];
  readonly conditional: readonly ConditionalLine[];
  readonly restrictions: readonly BoundRestriction[];
  readonly limits: readonly { readonly name: string; readonly rule: string }[];
  /** Commit rules that do not bind the caller. */
  readonly exempt: readonly { readonly name: string; readonly rule: string }[];
  /** Whether the lines could be listed: under a foreign model they cannot. */
  readonly listed: boolean;
}

/** A name that no policy uses, in the place of any segment. */
const SOME = 'any-other-name';

/** What a caller may do on an object of each pattern of its lines, and the line behind each right. */
export function rightsOfCaller(policy: LoadedPolicy, principal: Principal): CallerRights {
  const { policies, roles, snapshot, texts, packed } = policy;
  const names = namesOf(policy, principal);
  const own = policies.filter(({ subject }) => names.has(subject));
  const written = linesOfText(texts.policy);
  const { limits, commits } = snapshot;
  return {
    roles: roleSources(principal, roles, { roles: 'the credential', groups: 'the credential' }),
    rights: patternPlaces(own, []).flatMap(({ label, path }) =>
      rightsAt(policy, principal, { label, path, actions: actionsOf(own), written }),
    ),
    conditional: own
      .filter(({ condition }) => condition !== undefined)
      .map(({ line }) => ({ rule: ruleName(line), text: written[line - 1] ?? '' })),
    restrictions: restrictionsOf(policy, principal),
    limits: limits.limits
      .filter(({ subjects }) => subjects === null || [...subjects].some((name) => names.has(name)))
      .map(({ name, line }) => ({ name, rule: `${LIMITS_FILE}:${line}` })),
    exempt: commits.rules
      .filter(({ except }) => except.some((name) => names.has(name)))
      .map(({ name, line }) => ({ name, rule: `${COMMITS_FILE}:${line}` })),
    listed: packed !== null,
  };
}

function namesOf({ roles }: LoadedPolicy, { subject, groups, roles: own }: Principal) {
  return new RoleGraph(roles).closure([subject, ...groups, ...own, EVERYONE]);
}

interface Asked {
  readonly label: string;
  readonly path: ObjectPath;
  readonly actions: readonly Action[];
  readonly written: readonly string[];
}

/** One right for each line that decides something there. What no line decides, as every listing, is left out. */
function rightsAt(
  { snapshot }: LoadedPolicy,
  principal: Principal,
  { label, path, actions, written }: Asked,
): readonly EffectiveRight[] {
  const found = new Map<string, { effect: 'allow' | 'deny'; rule: string; on: Action[] }>();
  for (const action of actions) {
    const { allowed, rule } = snapshot.decide(principal, action, path);
    if (rule === null) continue;
    const effect = allowed ? 'allow' : 'deny';
    const key = `${effect} ${rule}`;
    const entry = found.get(key);
    if (entry === undefined) found.set(key, { effect, rule, on: [action] });
    else entry.on.push(action);
  }
  return [...found.values()].map(({ effect, rule, on }) => {
    const line = lineOfRule(rule);
    const text = line === undefined ? null : (written[line - 1] ?? null);
    return { object: label, effect, actions: withoutMembers(on), rule, text };
  });
}

/** Operations within a listed group are left out. */
function withoutMembers(actions: readonly Action[]): readonly string[] {
  const groups = accessGroups.filter((group) => actions.includes(group));
  // Everyone may list, so no line decides it.
  if (accessGroups.every((group) => group === 'list' || groups.includes(group))) return ['*'];
  const members = new Set<Action>(groups.flatMap((group) => operationsOf(group)));
  return actions.filter((action) => !isOperationName(action) || !members.has(action));
}

function restrictionsOf(
  { snapshot: { restrictions } }: LoadedPolicy,
  principal: Principal,
): readonly BoundRestriction[] {
  return restrictions.restrictions.flatMap((one) => {
    const binds = one.patterns.some((pattern) =>
      restrictions.binding(principal, exampleOf(pattern)).some(({ line }) => line === one.line),
    );
    return binds
      ? [{ ...summaryOfRestriction(one), tables: one.patterns.map((each) => formatPattern(each)) }]
      : [];
  });
}

/** An object that a pattern matches. */
function exampleOf({ segments, below }: Pattern): ObjectPath {
  const path = segments.map((segment) => (segment === ANY ? SOME : segment));
  return below ? [...path, SOME] : path;
}

/** A caller with rights on an object, and the lines behind them. */
interface ObjectRights {
  readonly subject: string;
  /** Id of the key; null for a name of the policy. */
  readonly key: string | null;
  readonly rights: readonly { readonly action: Action; readonly rule: string }[];
  readonly restrictions: readonly RestrictionSummary[];
}

type Right = ObjectRights['rights'][number];
type Counted = Omit<ObjectRights, 'rights'> & { readonly rights: Right[] };

/** Every name and key of a policy that may do something with an object, by access group. */
export function rightsOnObject(
  policy: LoadedPolicy,
  object: ObjectPath,
  keys: readonly Principal[],
): { readonly object: string; readonly callers: readonly ObjectRights[] } {
  const callers = new Map<string, Counted>();
  for (const action of accessGroups) {
    for (const found of principalsAllowed(policy, action, object, undefined, keys)) {
      const { principal, key, rule, restrictions } = found;
      // Everyone may list; a listing shows what its caller may see.
      if (rule === null) continue;
      const { subject } = principal;
      const name = `${subject}\n${key ?? ''}`;
      const entry = callers.get(name) ?? { subject, key, rights: [], restrictions };
      entry.rights.push({ action, rule });
      callers.set(name, entry);
    }
  }
  return { object: canonicalPath(object), callers: [...callers.values()] };
}
