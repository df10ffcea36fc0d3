import type { ObjectPath } from '../protocol/identifier.ts';
import type { Action } from '../protocol/operation.ts';
import type { Principal } from '../protocol/principal.ts';
import type { Issuer } from './issuer.ts';
import { intersect, subtreeOf } from './pattern.ts';
import type { Pattern } from './pattern.ts';
import type { Effect, PolicyLine, RoleLine } from './policy-line.ts';
import { PrincipalViews } from './principal-views.ts';
import type { PrincipalView } from './principal-views.ts';
import { grantsBelow, wantsBelow } from './everything-below.ts';
import { reaches } from './reach.ts';
import { RightSet } from './right-set.ts';
import { RoleGraph } from './role-graph.ts';
import { onlyGiven, wantsUnder } from './scopes.ts';
import type { PolicySnapshot, Verdict } from './snapshot.ts';
import { buildTries, matchingEntries } from './trie.ts';
import type { Entry, TrieNode } from './trie.ts';
import { denied, judge, judgeAll, neededFor, requestFault, wantFor } from './verdict.ts';
import type { TracedGrants } from './verdict.ts';
import { holds, isReserved, narrow, wantAnything } from './want.ts';
import type { Grants, Want } from './want.ts';

/** The trees of a principal's lines, and what it may do somewhere, once asked. */
interface Lines {
  readonly roots: readonly TrieNode[];
  readonly anywhere: Map<Action, boolean>;
}

/** Everything there is. */
const EVERYWHERE = subtreeOf([]);

/**
 * A policy under the shipped model: its lines stand in a tree of segments for
 * each subject, so that a decision walks the object's path once, however many
 * lines there are.
 */
export class CompiledSnapshot implements PolicySnapshot {
  readonly slow = false;
  readonly digest: string;
  readonly issuers: readonly Issuer[];
  readonly #views: PrincipalViews<Lines>;

  constructor(
    policies: readonly PolicyLine[],
    roles: readonly RoleLine[],
    digest: string,
    issuers: readonly Issuer[] = [],
  ) {
    const tries = buildTries(policies);
    this.digest = digest;
    this.issuers = issuers;
    this.#views = new PrincipalViews(new RoleGraph(roles), (names) => ({
      roots: [...names].map((name) => tries.get(name)).filter((trie) => trie !== undefined),
      anywhere: new Map(),
    }));
  }

  decide(principal: Principal, action: Action, object: ObjectPath): Verdict {
    const fault = requestFault(principal.subject, object);
    if (fault !== undefined) return denied(fault);
    const needed = neededFor(action);
    if (needed === undefined) return denied('the request has no known action');
    const view = this.#views.of(principal);
    const grants = new EntryGrants(matchingEntries(view.extra.roots, object));
    if (needed.length === 1) return judge(grants, needed[0]!, object, view.scopes);
    return judgeAll(needed, (right) => judge(grants, right, object, view.scopes));
  }

  sees(principal: Principal, object: ObjectPath, kind: 'namespace' | 'table'): boolean {
    if (requestFault(principal.subject, object) !== undefined) return false;
    const view = this.#views.of(principal);
    const wants = wantsUnder(wantAnything, view.scopes, object);
    const grants = new EntryGrants(matchingEntries(view.extra.roots, object));
    const reserved = isReserved(object);
    if (wants.some((want) => holds(want, grants, reserved))) return true;
    return kind === 'namespace' && reachable(view, subtreeOf(object), wantAnything);
  }

  mayAnywhere(principal: Principal, action: Action): boolean {
    const needed = neededFor(action);
    if (needed === undefined || principal.subject === '') return false;
    const view = this.#views.of(principal);
    return needed.every((right) => {
      const known = view.extra.anywhere.get(right);
      if (known !== undefined) return known;
      const found = reachable(view, EVERYWHERE, wantFor(right));
      view.extra.anywhere.set(right, found);
      return found;
    });
  }

  holdsBelow(principal: Principal, action: Action | 'see', object: ObjectPath): boolean {
    if (requestFault(principal.subject, object) !== undefined) return false;
    const wants = action === 'see' ? [wantAnything] : neededFor(action)?.map(wantFor);
    const view = this.#views.of(principal);
    const grants = grantsBelow(view.extra.roots, object);
    const held = (want: Want): boolean =>
      wantsBelow(want, view.scopes, object).some((left) => holds(left, grants, isReserved(object)));
    return wants?.every(held) ?? false;
  }

  /**
   * What the lines alone say, as casbin's own enforcer would: every right that
   * some line allows on the object, and every one that some line denies.
   */
  grants(principal: Principal, object: ObjectPath): Grants {
    return new EntryGrants(matchingEntries(this.#views.of(principal).extra.roots, object));
  }
}

/** Whether some object of the region answers the question with yes, within the scopes of the credential. */
function reachable(view: PrincipalView<Lines>, region: Pattern, want: Want): boolean {
  const { roots } = view.extra;
  if (view.scopes === undefined) return reaches(roots, region, want);
  if (reaches(roots, region, onlyGiven(want))) return true;
  return view.scopes.some(({ pattern, rights }) => {
    const common = intersect(region, pattern);
    return common !== undefined && reaches(roots, common, narrow(want, rights));
  });
}

/** The sum of the entries that match an object. */
class EntryGrants implements TracedGrants {
  readonly allow: RightSet;
  readonly deny: RightSet;
  readonly #entries: readonly Entry[];

  constructor(entries: readonly Entry[]) {
    let allow = RightSet.none;
    let deny = RightSet.none;
    for (const entry of entries) {
      allow = allow.union(entry.allow);
      deny = deny.union(entry.deny);
    }
    this.allow = allow;
    this.deny = deny;
    this.#entries = entries;
  }

  line(rights: RightSet, effect: Effect): number | undefined {
    let first: number | undefined;
    for (const entry of this.#entries) {
      if (!entry[effect].meets(rights)) continue;
      const { line } = entry.line(rights, effect)!;
      if (first === undefined || line < first) first = line;
    }
    return first;
  }
}
