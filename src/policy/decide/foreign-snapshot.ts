import { canonicalPath, type ObjectPath } from '../../protocol/identifier.ts';
import type { Action } from '../../protocol/operations/operation.ts';
import type { Principal } from '../../protocol/principal.ts';
import { CommitBook } from '../settings/commit-book.ts';
import type { Issuer } from '../settings/issuer.ts';
import type { LoadedEnforcer } from './casbin-enforcer.ts';
import { noCircumstances, type Circumstances } from '../conditions/circumstances.ts';
import type { CsvLine } from '../lines/csv.ts';
import { LimitBook } from '../settings/limit-book.ts';
import { RestrictionBook } from '../settings/restriction-book.ts';
import { parsePattern } from '../lines/pattern.ts';
import type { Effect } from '../conditions/condition.ts';
import { PrincipalViews, type PrincipalView } from '../lines/principal-views.ts';
import { RightSet } from '../lines/right-set.ts';
import { describeRights, rightNames, rightsOf } from '../lines/rights.ts';
import type { Roles } from '../lines/packed-roles.ts';
import { wantsUnder } from '../lines/scopes.ts';
import type { PolicySettings, PolicySnapshot, Verdict } from './snapshot.ts';
import {
  denied,
  judge,
  judgeAll,
  neededFor,
  requestFault,
  wantFor,
  type TracedGrants,
} from './verdict.ts';
import { holds, isReserved, wantAnything, type Want } from '../lines/want.ts';

type View = PrincipalView<undefined>;

/** A segment that stands for `*` when an object is needed to try a pattern with. */
const PROBE = 'any-other';

/**
 * A policy under a model of its own: casbin decides each right, line by line,
 * with the same additions as for the shipped model (`want.ts`). What a
 * listing shows of a namespace is found by trying the objects that the
 * lines' own patterns suggest.
 */
export class ForeignSnapshot implements PolicySnapshot {
  readonly slow = true;
  readonly remarks: readonly string[] = [];
  readonly digest: string;
  readonly issuers: readonly Issuer[];
  readonly commits: CommitBook;
  readonly limits: LimitBook;
  readonly restrictions: RestrictionBook;
  readonly #loaded: LoadedEnforcer;
  readonly #views: PrincipalViews<undefined>;
  readonly #probes: readonly ObjectPath[];

  constructor(
    loaded: LoadedEnforcer,
    lines: readonly CsvLine[],
    roles: Roles,
    settings: PolicySettings,
  ) {
    this.digest = settings.digest;
    this.issuers = settings.issuers;
    this.limits = new LimitBook(settings.limits, roles);
    this.restrictions = new RestrictionBook(settings.restrictions, roles);
    this.commits = new CommitBook(settings.rules, roles, settings.commitsDigest);
    this.#loaded = loaded;
    this.#views = new PrincipalViews(roles, () => undefined);
    this.#probes = probesOf(lines);
  }

  decide(
    principal: Principal,
    action: Action,
    object: ObjectPath,
    circumstances = noCircumstances,
  ): Verdict {
    const fault = requestFault(principal.subject, object);
    if (fault !== undefined) return denied(fault);
    const needed = neededFor(action);
    if (needed === undefined) return denied('the request has no known action');
    const view = this.#views.of(principal);
    return judgeAll(needed, (right) => {
      const grants = this.#grants(
        principal,
        view,
        object,
        neededGrants(right, object),
        circumstances,
      );
      return judge(grants, right, object, view.scopes);
    });
  }

  sees(
    principal: Principal,
    object: ObjectPath,
    kind: 'namespace' | 'table',
    circumstances = noCircumstances,
  ): boolean {
    if (requestFault(principal.subject, object) !== undefined) return false;
    const tried = kind === 'table' ? [] : this.#probes.filter((probe) => isBelow(probe, object));
    return this.#someHolds(principal, wantAnything, [object, ...tried], circumstances);
  }

  mayAnywhere(principal: Principal, action: Action, circumstances = noCircumstances): boolean {
    const needed = neededFor(action);
    if (needed === undefined || principal.subject === '') return false;
    return needed.every((right) =>
      this.#someHolds(principal, wantFor(right), this.#probes, circumstances),
    );
  }

  /** A foreign model cannot be evaluated for names that do not exist yet. */
  holdsBelow(): boolean {
    return false;
  }

  #someHolds(
    principal: Principal,
    want: Want,
    objects: readonly ObjectPath[],
    circumstances: Circumstances,
  ): boolean {
    const view = this.#views.of(principal);
    return objects.some((object) => {
      const grants = this.#grants(principal, view, object, rightNames, circumstances);
      const wants = wantsUnder(want, view.scopes, object);
      return wants.some((left) => holds(left, grants, isReserved(object)));
    });
  }

  #grants(
    { subject }: Principal,
    { names }: View,
    object: ObjectPath,
    rights: readonly Action[],
    circumstances: Circumstances,
  ): TracedGrants {
    const path = canonicalPath(object);
    const grants = new EnforcedGrants();
    this.#loaded.enforce(subject, names, circumstances);
    for (const right of rights) {
      const [allowed, values] = this.#loaded.enforcer.enforceExSync(subject, path, right);
      const line = this.#loaded.lineOf(values);
      if (allowed) grants.add('allow', right, line);
      else if (line !== undefined) grants.add('deny', right, line);
    }
    return grants;
  }
}

/** The rights that a decision about one has to know of. */
function neededGrants(right: Action, object: ObjectPath): readonly Action[] {
  if (isReserved(object)) return [right, 'audit'];
  return rightsOf(right).meets(describeRights) ? rightNames : [right];
}

/** Casbin's answers, right by right. */
class EnforcedGrants implements TracedGrants {
  allow = RightSet.none;
  deny = RightSet.none;
  readonly #lines: { rights: RightSet; effect: Effect; line: number }[] = [];

  add(effect: Effect, right: Action, line: number | undefined): void {
    const rights = rightsOf(right);
    this[effect] = this[effect].union(rights);
    if (line !== undefined) this.#lines.push({ rights, effect, line });
  }

  line(rights: RightSet, effect: Effect): number | undefined {
    const found = this.#lines.filter((one) => one.effect === effect && one.rights.meets(rights));
    return found.length === 0 ? undefined : Math.min(...found.map(({ line }) => line));
  }
}

/** One object for each pattern that stands in a line, and the root. */
function probesOf(lines: readonly CsvLine[]): readonly ObjectPath[] {
  const probes = new Map<string, ObjectPath>([['/', []]]);
  for (const cell of lines.flatMap(({ cells }) => cells)) {
    const result = parsePattern(cell);
    if ('fault' in result) continue;
    const path = result.pattern.segments.map((segment) => segment ?? PROBE);
    probes.set(canonicalPath(path), path);
    if (result.pattern.below) probes.set(canonicalPath([...path, PROBE]), [...path, PROBE]);
  }
  return [...probes.values()];
}

function isBelow(path: ObjectPath, object: ObjectPath): boolean {
  return path.length > object.length && object.every((segment, index) => segment === path[index]);
}
