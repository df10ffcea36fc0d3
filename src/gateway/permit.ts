import { canonicalPath, type ObjectPath } from '../protocol/identifier.ts';
import { CatalogError } from '../protocol/errors.ts';
import type { Action } from '../protocol/operation.ts';
import type { Permit, VisibleNames } from '../protocol/permit.ts';
import type { Principal } from '../protocol/principal.ts';
import type { PolicySnapshot, Verdict } from '../policy/snapshot.ts';

/** A denial: what the caller is told, and the verdict that only some may see. */
export class Denied extends CatalogError {
  readonly verdict: Verdict;
  readonly permit: SnapshotPermit;

  constructor(message: string, verdict: Verdict, permit: SnapshotPermit) {
    super('PermissionDenied', message);
    this.verdict = verdict;
    this.permit = permit;
  }
}

/**
 * The permit of one request. Every question is answered by the policy that was
 * in force when the request was decided, whatever is loaded meanwhile.
 */
export class SnapshotPermit implements Permit {
  readonly principal: Principal;
  readonly decisionId: string;
  readonly #policy: PolicySnapshot;
  readonly #asked = new Map<string, ObjectPath>();

  constructor(policy: PolicySnapshot, principal: Principal, decisionId: string) {
    this.#policy = policy;
    this.principal = principal;
    this.decisionId = decisionId;
  }

  /** The digest of the policy that decides. */
  get policyDigest(): string {
    return this.#policy.digest;
  }

  /** The objects that rights were asked for, each once, in order. */
  get asked(): readonly ObjectPath[] {
    return [...this.#asked.values()];
  }

  /** The verdict on an action. A group is allowed when every operation of it is. */
  verdict(action: Action, object: ObjectPath): Verdict {
    return this.#policy.decide(this.principal, action, object);
  }

  require(action: Action, object: ObjectPath): void {
    this.#asked.set(canonicalPath(object), object);
    const verdict = this.verdict(action, object);
    if (!verdict.allowed) this.refuse(action, object, verdict);
  }

  /** @throws Denied always: the refusal of this action, with the verdict behind it. */
  refuse(action: Action, object: ObjectPath, verdict: Verdict): never {
    const what = `${this.principal.subject} may not ${action} on ${canonicalPath(object)}`;
    throw new Denied(what, verdict, this);
  }

  holds(action: Action, object: ObjectPath): boolean {
    return this.verdict(action, object).allowed;
  }

  sees(object: ObjectPath, kind: 'namespace' | 'table'): boolean {
    return this.#policy.sees(this.principal, object, kind);
  }

  holdsBelow(action: Action | 'see', object: ObjectPath): boolean {
    return this.#policy.holdsBelow(this.principal, action, object);
  }

  /** Whether the action is allowed on anything at all. */
  mayAnywhere(action: Action): boolean {
    return this.#policy.mayAnywhere(this.principal, action);
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
