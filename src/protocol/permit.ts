import type { Action } from './operations/operation.ts';
import type { ObjectPath } from './identifier.ts';
import type { Principal } from './principal.ts';
import type { Restrictions } from './restrictions.ts';

declare const filtered: unique symbol;

/** Names that went through a permit: the only names that a listing can answer with. */
export type VisibleNames = readonly string[] & { readonly [filtered]: true };

/** Some of the names, in their order. */
export function someOf(
  names: VisibleNames,
  isMeant: (name: string, at: number) => boolean,
): VisibleNames {
  return names.filter(isMeant) as readonly string[] as VisibleNames;
}

/** Names, one part after the other. */
export function joined(parts: readonly VisibleNames[]): VisibleNames {
  return parts.flat() as readonly string[] as VisibleNames;
}

/**
 * The rights of a request. The engine checks every object and mode that only the body names, and lists
 * only visible names.
 */
export interface Permit {
  readonly principal: Principal;
  readonly decisionId: string;
  /** What binds the caller on a table; null for nothing. */
  restrictionsOn(object: ObjectPath): Restrictions | null;
  /**
   * Asks for a right that the route did not show.
   * @throws CatalogError PermissionDenied, in the same words whether or not the object exists.
   */
  require(action: Action, object: ObjectPath, branch?: string): void;
  /** Whether the right is held; nothing is thrown or refused. */
  holds(action: Action, object: ObjectPath, branch?: string): boolean;
  /** Whether the right is held on every branch of the object, for callers that do not know the branch. */
  holdsOnBranches(action: Action, object: ObjectPath): boolean;
  /**
   * Whether the right is held on every branch and whatever the conditions of the policy say: what depends on one
   * cannot be enforced once the request is over.
   */
  holdsAlways(action: Action, object: ObjectPath): boolean;
  /** Whether a listing may show the object. For a namespace also if something below it may be seen. */
  sees(object: ObjectPath, kind: 'namespace' | 'table'): boolean;
  /**
   * Whether the right is held on the object and on whatever may lie below it, for backends
   * that cannot ask; `see` for whether a listing may show all of that. False if that is uncertain.
   */
  holdsBelow(action: Action | 'see', object: ObjectPath): boolean;
  /** The entries that may be shown, each turned into the name to answer. Keeps their order. */
  show<Entry>(
    entries: readonly Entry[],
    object: (entry: Entry) => ObjectPath,
    kind: 'namespace' | 'table',
    name: (entry: Entry) => string,
  ): VisibleNames;
}
