import type { Dialect } from '../../protocol/dialect.ts';
import { canonicalPath, type ObjectPath } from '../../protocol/identifier.ts';
import type { Action, Operation } from '../../protocol/operations/operation.ts';
import type { Query } from '../../protocol/query.ts';
import type { OperationMatch } from '../../protocol/route.ts';

/** A right that a request needs, as far as its route and query show. */
export interface Need {
  readonly action: Action;
  readonly object: ObjectPath;
  /** Null while only the unread body may name it; undefined if the right concerns none. */
  readonly branch: string | null | undefined;
  /**
   * How it is judged: allowed on the object; allowed on something, where only
   * the body names objects; or merely not denied, where a mode asks for other
   * rights in place of the operation's own.
   */
  readonly judged: 'allowed' | 'anywhere' | 'not-denied';
}

/**
 * A route that was requested before, with what was derived from it. All of that follows from
 * the request line and the kind of client alone, so that it is the same for every caller.
 */
export class KnownRoute implements OperationMatch {
  readonly kind = 'operation';
  readonly operation: Operation;
  readonly dialect: Dialect;
  readonly object: ObjectPath;
  readonly indexName: string | undefined;
  readonly target: ObjectPath | undefined;
  readonly root: ObjectPath | undefined;
  readonly delimiter: string;
  readonly query: Query;
  readonly parameters: ReadonlyMap<string, string>;
  /** The canonical path of its object. */
  readonly path: string;
  /** The rights that the route needs, once they were computed. */
  needs: readonly Need[] | undefined;

  constructor(match: OperationMatch) {
    this.operation = match.operation;
    this.dialect = match.dialect;
    this.object = match.object;
    this.indexName = match.indexName;
    this.target = match.target;
    this.root = match.root;
    this.delimiter = match.delimiter;
    this.query = match.query;
    this.parameters = match.parameters;
    this.path = canonicalPath(match.object);
  }
}

/** The canonical path of the object that a route names. */
export function objectPath(route: OperationMatch): string {
  return route instanceof KnownRoute ? route.path : canonicalPath(route.object);
}
