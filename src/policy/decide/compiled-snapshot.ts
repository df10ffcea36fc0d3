import type { ObjectPath } from '../../protocol/identifier.ts';
import type { Action } from '../../protocol/operations/operation.ts';
import type { Principal } from '../../protocol/principal.ts';
import { CommitBook } from '../settings/commit-book.ts';
import { noCircumstances, type Circumstances } from '../conditions/circumstances.ts';
import type { Issuer } from '../settings/issuer.ts';
import { LimitBook } from '../settings/limit-book.ts';
import { RestrictionBook } from '../settings/restriction-book.ts';
import { intersect, subtreeOf, type Pattern } from '../lines/pattern.ts';
import { MergedTrie } from './merged-trie.ts';
import type { Effect } from '../conditions/condition.ts';
import { Names } from '../lines/name-table.ts';
import { PackedRoles } from '../lines/packed-roles.ts';
import { PrincipalViews, type PrincipalView } from '../lines/principal-views.ts';
import { grantsBelow, wantsBelow, reaches, SummedGrants } from './reach.ts';
import { RightSet } from '../lines/right-set.ts';
import { onlyGiven, wantsUnder } from '../lines/scopes.ts';
import type { PolicySettings, PolicySnapshot, Verdict } from './snapshot.ts';
import { PackedTries, type PackedEntry, type PackedNode } from './packed-tries.ts';
import type { PackedPolicy } from './packed-policy.ts';
import {
  denied,
  judge,
  judgeAll,
  neededFor,
  requestFault,
  wantFor,
  type TracedGrants,
} from './verdict.ts';
import {
  holds,
  isReserved,
  narrowWant,
  wantAnything,
  type Grants,
  type Want,
} from '../lines/want.ts';

/** The trees of a principal's lines; and, once computed, its rights anywhere. */
interface Lines {
  readonly roots: readonly PackedNode[];
  readonly merged: MergedTrie;
  /** Kept only where no line has a condition. */
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
  readonly remarks: readonly string[];
  readonly issuers: readonly Issuer[];
  readonly commits: CommitBook;
  readonly limits: LimitBook;
  readonly restrictions: RestrictionBook;
  readonly #views: PrincipalViews<Lines>;

  constructor({ names, tries, roles }: PackedPolicy, settings: PolicySettings) {
    const known = new Names(names);
    const trees = new PackedTries(known, tries);
    const graph = new PackedRoles(known, roles);
    this.digest = settings.digest;
    this.remarks = settings.remarks;
    this.issuers = settings.issuers;
    this.commits = new CommitBook(settings.rules, graph, settings.commitsDigest);
    this.limits = new LimitBook(settings.limits, graph);
    this.restrictions = new RestrictionBook(settings.restrictions, graph);
    this.#views = new PrincipalViews(graph, (names) => {
      const own = [...names].map((name) => trees.get(name)).filter((tree) => tree !== undefined);
      return { roots: own, merged: new MergedTrie(own), anywhere: new Map() };
    });
  }

  decide(
    principal: Principal,
    action: Action,
    object: ObjectPath,
    circumstances = noCircumstances,
  ): Verdict {
    const fault = requestFault(principal.subject, object);
    if (fault !== undefined) return denied(fault);
    const view = this.#views.of(principal);
    const matching = view.extra.merged.matching(object);
    const isLasting = !matching.isConditional && view.scopes === undefined && !isReserved(object);
    if (!isLasting) return decided(view, action, object, circumstances);
    const cached = matching.verdict(action);
    if (cached !== undefined) return cached;
    const verdict = decided(view, action, object, circumstances);
    matching.keep(action, verdict);
    return verdict;
  }

  sees(
    principal: Principal,
    object: ObjectPath,
    kind: 'namespace' | 'table',
    circumstances = noCircumstances,
  ): boolean {
    if (requestFault(principal.subject, object) !== undefined) return false;
    const view = this.#views.of(principal);
    const wants = wantsUnder(wantAnything, view.scopes, object);
    // A listing calls this per entry: merging lines for each would cost more.
    const grants = new SummedGrants(view.extra.roots, object, circumstances);
    const reserved = isReserved(object);
    if (wants.some((want) => holds(want, grants, reserved))) return true;
    return kind === 'namespace' && reachable(view, subtreeOf(object), wantAnything, circumstances);
  }

  mayAnywhere(principal: Principal, action: Action, circumstances = noCircumstances): boolean {
    const needed = neededFor(action);
    if (needed === undefined || principal.subject === '') return false;
    const view = this.#views.of(principal);
    const { anywhere, roots } = view.extra;
    const lasting = !roots.some(({ hasConditions }) => hasConditions);
    return needed.every((right) => {
      const cached = anywhere.get(right);
      if (cached !== undefined) return cached;
      const found = reachable(view, EVERYWHERE, wantFor(right), circumstances);
      if (lasting) anywhere.set(right, found);
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
  grants(principal: Principal, object: ObjectPath, circumstances = noCircumstances): Grants {
    const { merged } = this.#views.of(principal).extra;
    return new EntryGrants(merged.matching(object).entries, circumstances);
  }
}

/** The combined lines of a principal. */
function decided(
  view: PrincipalView<Lines>,
  action: Action,
  object: ObjectPath,
  circumstances: Circumstances,
): Verdict {
  const needed = neededFor(action);
  if (needed === undefined) return denied('the request has no known action');
  const { entries } = view.extra.merged.matching(object);
  const grants = new EntryGrants(entries, circumstances);
  if (needed.length === 1) return judge(grants, needed[0]!, object, view.scopes);
  return judgeAll(needed, (right) => judge(grants, right, object, view.scopes));
}

/** Whether some object of the region answers the question with yes, within the scopes of the credential. */
function reachable(
  view: PrincipalView<Lines>,
  region: Pattern,
  want: Want,
  circumstances: Circumstances,
): boolean {
  const { roots } = view.extra;
  if (view.scopes === undefined) return reaches(roots, region, want, circumstances);
  if (reaches(roots, region, onlyGiven(want), circumstances)) return true;
  return view.scopes.some(({ pattern, rights }) => {
    const common = intersect(region, pattern);
    if (common === undefined) return false;
    return reaches(roots, common, narrowWant(want, rights), circumstances);
  });
}

/** The sum of the entries that match an object. */
class EntryGrants implements TracedGrants {
  readonly allow: RightSet;
  readonly deny: RightSet;
  readonly #entries: readonly PackedEntry[];
  readonly #circumstances: Circumstances;

  constructor(entries: readonly PackedEntry[], circumstances: Circumstances) {
    let allow = RightSet.none;
    let deny = RightSet.none;
    for (const entry of entries) {
      allow = allow.union(entry.under('allow', circumstances));
      deny = deny.union(entry.under('deny', circumstances));
    }
    this.allow = allow;
    this.deny = deny;
    this.#entries = entries;
    this.#circumstances = circumstances;
  }

  line(rights: RightSet, effect: Effect): number | undefined {
    let first: number | undefined;
    for (const entry of this.#entries) {
      const found = entry.line(rights, effect, this.#circumstances);
      if (found !== undefined && (first === undefined || found.line < first)) first = found.line;
    }
    return first;
  }
}
