import { CatalogError } from '../../protocol/errors.ts';
import type { ObjectPath } from '../../protocol/identifier.ts';
import type { Action } from '../../protocol/operations/operation.ts';
import type { Permit, VisibleNames } from '../../protocol/permit.ts';
import type { Restrictions } from '../../protocol/restrictions.ts';

/** A right that a change needed beyond what the route shows: of an object or a branch that only the body names, or of what lies below. */
export interface RequestedRight {
  readonly action: Action;
  readonly object: ObjectPath;
  readonly branch: string | null;
  /** Whether the object may be named to the caller. */
  readonly named: boolean;
}

/** A permit that records granted rights. */
export class RecordingPermit implements Permit {
  readonly #permit: Permit;
  readonly #granted = new Map<string, RequestedRight>();

  constructor(permit: Permit) {
    this.#permit = permit;
  }

  get principal() {
    return this.#permit.principal;
  }

  get decisionId() {
    return this.#permit.decisionId;
  }

  /** Rights granted so far. */
  get granted(): readonly RequestedRight[] {
    return [...this.#granted.values()];
  }

  restrictionsOn(object: ObjectPath): Restrictions | null {
    return this.#permit.restrictionsOn(object);
  }

  require(action: Action, object: ObjectPath, branch?: string): void {
    this.#permit.require(action, object, branch);
    this.#note({ action, object, branch: branch ?? null, named: true });
  }

  holds(action: Action, object: ObjectPath, branch?: string): boolean {
    const held = this.#permit.holds(action, object, branch);
    if (held) this.#note({ action, object, branch: branch ?? null, named: false });
    return held;
  }

  holdsOnBranches(action: Action, object: ObjectPath): boolean {
    return this.#permit.holdsOnBranches(action, object);
  }

  holdsAlways(action: Action, object: ObjectPath): boolean {
    return this.#permit.holdsAlways(action, object);
  }

  holdsBelow(action: Action | 'see', object: ObjectPath): boolean {
    return this.#permit.holdsBelow(action, object);
  }

  sees(object: ObjectPath, kind: 'namespace' | 'table'): boolean {
    return this.#permit.sees(object, kind);
  }

  show<Entry>(
    entries: readonly Entry[],
    object: (entry: Entry) => ObjectPath,
    kind: 'namespace' | 'table',
    name: (entry: Entry) => string,
  ): VisibleNames {
    return this.#permit.show(entries, object, kind, name);
  }

  #note(right: RequestedRight): void {
    const { action, object, branch } = right;
    this.#granted.set(JSON.stringify([action, object, branch]), right);
  }
}

/**
 * Asks again for rights that were granted once.
 * @throws CatalogError PermissionDenied for one that was withdrawn since.
 */
export function requireAgain(permit: Permit, rights: readonly RequestedRight[]): void {
  for (const { action, object, branch, named } of rights) {
    const place = [action, object, ...(branch === null ? [] : [branch])] as const;
    if (named) permit.require(...place);
    else if (!permit.holds(...place)) {
      throw new CatalogError(
        'PermissionDenied',
        'the request was carried out before, with a right that its caller holds no more',
      );
    }
  }
}
