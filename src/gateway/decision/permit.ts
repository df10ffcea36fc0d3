import type { ExtraRights, Decision, ShadowVerdict } from '../../audit/record/record.ts';
import { canonicalPath, type ObjectPath } from '../../protocol/identifier.ts';
import { MAIN_BRANCH, isAboutBranch } from '../../protocol/branch.ts';
import { CatalogError } from '../../protocol/errors.ts';
import type { Action } from '../../protocol/operations/operation.ts';
import { operations } from '../../protocol/operations/operations.ts';
import type { Permit, VisibleNames } from '../../protocol/permit.ts';
import type { Principal } from '../../protocol/principal.ts';
import type { Restrictions, RoutedAction } from '../../protocol/restrictions.ts';
import {
  noCircumstances,
  onBranch,
  type Circumstances,
} from '../../policy/conditions/circumstances.ts';
import type { PolicySnapshot, Verdict } from '../../policy/decide/snapshot.ts';
import { underRestrictions } from '../../policy/decide/restricted-verdict.ts';
import type { WrittenRestriction } from '../../policy/settings/restrictions.ts';
import type { Need } from './known-route.ts';

/** The requested rights, in order; consecutive rights on several objects form one entry. */
class RequestedRightsList {
  readonly #rights: {
    readonly action: Action;
    readonly branch: string | null;
    readonly objects: string[];
  }[] = [];

  /** @param object Canonical path. */
  add(action: Action, branch: string | null, object: string): void {
    const last = this.#rights.at(-1);
    if (last?.action !== action || last.branch !== branch) {
      this.#rights.push({ action, branch, objects: [object] });
    } else if (last.objects.at(-1) !== object) {
      last.objects.push(object);
    }
  }

  get all(): readonly ExtraRights[] {
    return this.#rights;
  }
}

const NO_CONTEXT: ReadonlyMap<string, string> = new Map();

/** A denial: its sentence for the caller, and the verdict that only administrators may see. */
export class Denied extends CatalogError {
  readonly verdict: Verdict;
  readonly permit: SnapshotPermit;

  constructor(message: string, verdict: Verdict, permit: SnapshotPermit) {
    super('PermissionDenied', message);
    this.verdict = verdict;
    this.permit = permit;
  }
}

/** A shadow policy: it gets the same questions, without effect. */
export interface PolicyTrial {
  /** Judges a right that the backend needs. Does not throw. */
  ask(action: Action, object: ObjectPath, branch?: string): void;
  /**
   * Its verdict, if it differs from the decision.
   * @param bound Restrictions that bind the caller on the object of the route.
   */
  difference(decided: Decision, bound: readonly WrittenRestriction[]): ShadowVerdict | null;
}

/** What of a request decides about restrictions. */
export interface RestrictedRequest {
  readonly route: RoutedAction;
  /** Context that the caller did not choose. */
  readonly context: () => ReadonlyMap<string, string>;
}

/**
 * The permit of one request. Every question is answered by the policy that was
 * in force when the request was decided, whatever is loaded meanwhile, under the
 * circumstances of then.
 */
export class SnapshotPermit implements Permit {
  readonly principal: Principal;
  readonly decisionId: string;
  readonly #policy: PolicySnapshot;
  #objects: Map<string, ObjectPath> | undefined;
  #rights: RequestedRightsList | undefined;
  readonly trial: PolicyTrial | undefined;
  #refused: Verdict | undefined;
  readonly #circumstances: Circumstances;
  /** The circumstances while the branch is open, on `main`, and on other branches. */
  #open: Circumstances | undefined;
  #onMain: Circumstances | undefined;
  #onBranches: Map<string, Circumstances> | undefined;
  readonly #request: RestrictedRequest | null;
  #boundObject: ObjectPath | undefined;
  #bound: readonly WrittenRestriction[] = [];

  /** @param request Null for a permit that no request uses: it holds no right on a restricted table. */
  constructor(
    policy: PolicySnapshot,
    principal: Principal,
    decisionId: string,
    circumstances: Circumstances,
    request: RestrictedRequest | null,
    trial?: PolicyTrial,
  ) {
    this.trial = trial;
    this.#request = request;
    this.#policy = policy;
    this.#circumstances = circumstances;
    this.principal = principal;
    this.decisionId = decisionId;
  }

  /** The digest of the policy that decides. */
  get policyDigest(): string {
    return this.#policy.digest;
  }

  /** The objects of all requested rights, without duplicates, in order. */
  get checkedObjects(): readonly ObjectPath[] {
    return this.#objects === undefined ? [] : [...this.#objects.values()];
  }

  /** Whether no right was requested. */
  get isEmpty(): boolean {
    return this.#objects === undefined;
  }

  /** The last verdict that refused the request; undefined if none did. */
  get refused(): Verdict | undefined {
    return this.#refused;
  }

  /** The requested rights, in order. */
  get rights(): readonly ExtraRights[] {
    return (this.#rights ??= new RequestedRightsList()).all;
  }

  /**
   * The verdict on an action. A group is allowed when every operation of it is.
   * @param branch Null while it is open; unless given `main`, where the action is about one at all.
   */
  verdict(action: Action, object: ObjectPath, branch?: string | null): Verdict {
    const meant = branch === undefined && isAboutBranch(action) ? MAIN_BRANCH : branch;
    const verdict = this.#policy.decide(this.principal, action, object, this.#on(meant));
    return this.#restricted(action, object, verdict);
  }

  /** Names of the restrictions that bind the caller on the object of the route. */
  get restrictionNames(): readonly string[] {
    const object = this.#request?.route.object;
    return object === undefined ? [] : this.#policy.restrictions.namesOn(this.principal, object);
  }

  /** The restrictions that bind the caller on the table of the route; none for an operation that is not about one. */
  get restrictions(): readonly WrittenRestriction[] {
    const route = this.#request?.route;
    if (route === undefined || operations[route.operation].object !== 'table') return [];
    return this.#boundOn(route.object);
  }

  /** The restrictions that bind the caller. A request asks several times, mostly about one object. */
  #boundOn(object: ObjectPath): readonly WrittenRestriction[] {
    if (this.#boundObject !== object) {
      this.#boundObject = object;
      this.#bound = this.#policy.restrictions.binding(this.principal, object);
    }
    return this.#bound;
  }

  restrictionsOn(object: ObjectPath): Restrictions | null {
    const context = () => this.#request?.context() ?? NO_CONTEXT;
    return this.#policy.restrictions.meaning(this.principal, object, context);
  }

  /**
   * The verdict on a table that restrictions bind. The backend applies them for the operation and the
   * object of the route only: every other right, of a mode or of an object in the body, is refused.
   */
  #restricted(action: Action, object: ObjectPath, verdict: Verdict): Verdict {
    const bound = this.#boundOn(object);
    const { subject } = this.principal;
    const asked = this.#request?.route.operation;
    return underRestrictions(verdict, bound, { subject, action, object, asked }, () =>
      this.#isRouted(action, object),
    );
  }

  #isRouted(action: Action, object: ObjectPath): boolean {
    const route = this.#request?.route;
    return route?.operation === action && canonicalPath(route.object) === canonicalPath(object);
  }

  require(action: Action, object: ObjectPath, branch?: string): void {
    const path = canonicalPath(object);
    this.#objects ??= new Map();
    this.#objects.set(path, object);
    this.#rights ??= new RequestedRightsList();
    this.#rights.add(action, branch ?? null, path);
    this.trial?.ask(action, object, branch);
    const verdict = this.verdict(action, object, branch);
    if (!verdict.allowed) this.refuse(action, object, verdict);
  }

  /** @throws Denied always: the refusal of this action, with the verdict behind it. */
  refuse(action: Action, object: ObjectPath, verdict: Verdict): never {
    this.#refused = verdict;
    const what = `${this.principal.subject} may not ${action} on ${canonicalPath(object)}`;
    throw new Denied(verdict.sentence ?? what, verdict, this);
  }

  holds(action: Action, object: ObjectPath, branch?: string): boolean {
    return this.verdict(action, object, branch).allowed;
  }

  /** If the branch is unknown, allow lines for some branches fail and deny lines for some branches hold. */
  holdsOnBranches(action: Action, object: ObjectPath): boolean {
    return this.#holdsUnder(onBranch(this.#circumstances, undefined), action, object);
  }

  holdsAlways(action: Action, object: ObjectPath): boolean {
    return this.#holdsUnder(noCircumstances, action, object);
  }

  #holdsUnder(circumstances: Circumstances, action: Action, object: ObjectPath): boolean {
    const verdict = this.#policy.decide(this.principal, action, object, circumstances);
    return this.#restricted(action, object, verdict).allowed;
  }

  sees(object: ObjectPath, kind: 'namespace' | 'table'): boolean {
    return this.#policy.sees(this.principal, object, kind, this.#on(null));
  }

  /** A backend that cannot ask would read restricted tables as a whole. */
  holdsBelow(action: Action | 'see', object: ObjectPath): boolean {
    if (action !== 'see' && this.#policy.restrictions.bindsBelow(this.principal, object))
      return false;
    return this.#policy.holdsBelow(this.principal, action, object);
  }

  /** Whether the action is allowed on any object and any branch. */
  mayAnywhere(action: Action): boolean {
    return this.#policy.mayAnywhere(this.principal, action, this.#on(null));
  }

  /** The circumstances on a branch. One object per branch, so that results can be cached by it. */
  #on(branch: string | null | undefined): Circumstances {
    if (branch === undefined) return this.#circumstances;
    if (branch === null) return (this.#open ??= onBranch(this.#circumstances, null));
    if (branch === MAIN_BRANCH) return (this.#onMain ??= onBranch(this.#circumstances, branch));
    this.#onBranches ??= new Map();
    let circumstances = this.#onBranches.get(branch);
    if (circumstances === undefined) {
      circumstances = onBranch(this.#circumstances, branch);
      this.#onBranches.set(branch, circumstances);
    }
    return circumstances;
  }

  show<Entry>(
    entries: readonly Entry[],
    object: (entry: Entry) => ObjectPath,
    kind: 'namespace' | 'table',
    name: (entry: Entry) => string,
  ): VisibleNames {
    const visible = entries.filter((entry) => this.sees(object(entry), kind)).map(name);
    return visible as readonly string[] as VisibleNames;
  }
}

/** The policy's answers for a right, and whether they suffice for the request. */
interface NeedVerdict extends Verdict {
  readonly enough: boolean;
}

/** Judges a right that the route shows by the policy of a permit. */
export function judgeNeed(need: Need, permit: SnapshotPermit): NeedVerdict {
  const verdict = verdictOn(need, permit);
  const { allowed, rule, reason } = verdict;
  return { allowed, rule, reason, enough: isEnough(need, verdict) };
}

/** The policy's answers for a right. */
export function verdictOn(need: Need, permit: SnapshotPermit): Verdict {
  if (need.judged !== 'anywhere') {
    return permit.verdict(need.action, need.object, need.branch);
  }
  const allowed = permit.mayAnywhere(need.action);
  return {
    allowed,
    rule: null,
    reason: allowed ? 'allowed on some object' : 'allowed on no object',
  };
}

/** Whether that is enough for the request. A refusal without a line is the default one: nothing allowed it, nothing denied it. */
export function isEnough(need: Need, verdict: Verdict): boolean {
  return verdict.allowed || (need.judged === 'not-denied' && verdict.rule === null);
}
