import { CatalogError } from '../../protocol/errors.ts';
import { canonicalPath, type ObjectPath } from '../../protocol/identifier.ts';
import type { Action } from '../../protocol/operations/operation.ts';
import type { Permit, VisibleNames } from '../../protocol/permit.ts';
import type { Principal } from '../../protocol/principal.ts';
import type { Restrictions } from '../../protocol/restrictions.ts';

/** Which objects a backend serves, of several. */
export interface Territory {
  serves(object: ObjectPath): boolean;
  /** Whether it serves the object and everything below it. False if that is uncertain. */
  servesBelow(object: ObjectPath): boolean;
}

/**
 * The permit of a request that reaches a part of the catalog: what one of several backends serves, or
 * a database. Everything else is not to be found there: it is neither shown nor touched.
 */
export class RoutedPermit implements Permit {
  readonly #permit: Permit;
  readonly #territory: Territory;
  readonly #elsewhere: string;

  /** @param elsewhere Second half of the refusal of an object that is not served. */
  constructor(
    permit: Permit,
    territory: Territory,
    elsewhere = 'is served by another backend than the object of the route',
  ) {
    this.#permit = permit;
    this.#territory = territory;
    this.#elsewhere = elsewhere;
  }

  get principal(): Principal {
    return this.#permit.principal;
  }

  get decisionId(): string {
    return this.#permit.decisionId;
  }

  restrictionsOn(object: ObjectPath): Restrictions | null {
    return this.#permit.restrictionsOn(object);
  }

  require(action: Action, object: ObjectPath, branch?: string): void {
    this.#permit.require(action, object, branch);
    if (this.#territory.serves(object)) return;
    throw new CatalogError('InvalidInput', `${canonicalPath(object)} ${this.#elsewhere}`);
  }

  holds(action: Action, object: ObjectPath, branch?: string): boolean {
    return this.#territory.serves(object) && this.#permit.holds(action, object, branch);
  }

  holdsOnBranches(action: Action, object: ObjectPath): boolean {
    return this.#territory.serves(object) && this.#permit.holdsOnBranches(action, object);
  }

  holdsAlways(action: Action, object: ObjectPath): boolean {
    return this.#territory.serves(object) && this.#permit.holdsAlways(action, object);
  }

  sees(object: ObjectPath, kind: 'namespace' | 'table'): boolean {
    return this.#territory.serves(object) && this.#permit.sees(object, kind);
  }

  holdsBelow(action: Action | 'see', object: ObjectPath): boolean {
    return this.#territory.servesBelow(object) && this.#permit.holdsBelow(action, object);
  }

  show<Entry>(
    entries: readonly Entry[],
    object: (entry: Entry) => ObjectPath,
    kind: 'namespace' | 'table',
    name: (entry: Entry) => string,
  ): VisibleNames {
    const own = entries.filter((entry) => this.#territory.serves(object(entry)));
    return this.#permit.show(own, object, kind, name);
  }
}
