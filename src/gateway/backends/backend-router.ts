import { intersect, patternMatches, subtreeOf, type Pattern } from '../../policy/lines/pattern.ts';
import {
  answerBy,
  type Answer,
  type Backend,
  type CatalogRequest,
} from '../../protocol/backend.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { canonicalPath, type ObjectPath } from '../../protocol/identifier.ts';
import type { Operation } from '../../protocol/operations/operation.ts';
import { namesObject } from '../../protocol/operations/operations.ts';
import type { MaybePromise } from '../../protocol/maybe-promise.ts';
import type { Permit } from '../../protocol/permit.ts';
import { listedNames, withMounted } from './mounted-names.ts';
import type { RemoteBackend } from './remote-backend.ts';
import { RoutedPermit, type Territory } from './routed-permit.ts';
import type { OperationName } from '../../protocol/operations/operation-name.ts';

const json = (value: object): Answer => ({
  status: 200,
  contentType: 'application/json',
  body: JSON.stringify(value),
});

const answers: Readonly<Partial<Record<OperationName, Answer>>> = {
  ListNamespaces: json({ namespaces: [] }),
  ListTables: json({ tables: [] }),
  ListAllTables: json({ tables: [] }),
  DescribeNamespace: json({ properties: {} }),
  NamespaceExists: { status: 200, body: null },
};

/**
 * The answer for a namespace that exists only because a backend serves something below it: it is
 * otherwise empty. Undefined for operations that need a namespace of some backend.
 */
function mountPointAnswer({ name }: Operation): Answer | undefined {
  return answers[name];
}

/** A backend and the namespaces that it serves, unless one before it does. */
export interface BackendRoute {
  readonly backend: Backend;
  readonly namespaces: readonly Pattern[];
}

/** The part of a request that selects its backend. */
export type Aim = Pick<CatalogRequest, 'operation' | 'object'>;

/** The namespace that belongs to the gateway itself. */
const RESERVED = 'system';

/**
 * Several backends as one: the first whose patterns match the object answers. Operations without an
 * object on their route, and everything in `system`, go to the embedded engine, if there is one.
 */
export class BackendRouter implements Backend {
  readonly name = 'backends';
  readonly remotes: readonly RemoteBackend[];
  readonly #routes: readonly BackendRoute[];
  readonly #embedded: BackendRoute | undefined;
  /** The patterns that each backend serves; empty if one serves everything. */
  readonly #territories: ReadonlyMap<BackendRoute, Territory>;
  /** Namespaces on the fixed segments of each pattern: listings of the namespaces above show them. */
  readonly #mounts: readonly ObjectPath[];

  constructor(routes: readonly BackendRoute[], remotes: readonly RemoteBackend[]) {
    const others: readonly Backend[] = remotes;
    this.#routes = routes;
    this.remotes = remotes;
    this.#embedded = routes.find(({ backend }) => !others.includes(backend));
    const several = routes.length > 1 || this.#embedded !== undefined ? routes : [];
    this.#territories = new Map(several.map((route) => [route, this.#territoryOf(route)]));
    this.#mounts = routes.flatMap(({ namespaces }) => namespaces.map(fixedOf));
  }

  async handle(request: CatalogRequest, permit: Permit): Promise<Answer> {
    return this.answer(request, permit);
  }

  answer(request: CatalogRequest, permit: Permit): MaybePromise<Answer> {
    const route = this.#routeOf(request);
    // Most requests concern one backend, which answers them alone.
    const isIts = request.target === undefined && mountPointAnswer(request.operation) === undefined;
    return route !== undefined && isIts
      ? answerBy(route.backend, request, this.#permitFor(route, request, permit))
      : this.#answerBeside(request, permit, route);
  }

  /** Name of the backend of a request; undefined if there is none. */
  nameFor(aim: Aim): string | undefined {
    return this.#routeOf(aim)?.backend.name;
  }

  /** The remote backend of a request; undefined if another backend serves it. */
  remoteFor(aim: Aim): RemoteBackend | undefined {
    const backend = this.#routeOf(aim)?.backend;
    return this.remotes.find((remote) => remote === backend);
  }

  /** Why no backend can serve. A remote backend that is unavailable does not count while another answers. */
  async health(): Promise<string | undefined> {
    if (this.#embedded !== undefined) return this.#embedded.backend.health();
    const faults = await Promise.all(this.#routes.map(({ backend }) => backend.health()));
    return faults.includes(undefined) ? undefined : faults[0];
  }

  async weakness(): Promise<string | undefined> {
    return this.#embedded?.backend.weakness();
  }

  /** Answers requests that concern more than one backend. */
  async #answerBeside(
    request: CatalogRequest,
    permit: Permit,
    route: BackendRoute | undefined,
  ): Promise<Answer> {
    this.#checkTarget(request, route);
    const answer = await this.#answer(request, permit, route);
    if (request.operation.name !== 'ListNamespaces') return answer;
    return withMounted(answer, request, permit, listedNames(request.object, this.#mounts));
  }

  async #answer(
    request: CatalogRequest,
    permit: Permit,
    route: BackendRoute | undefined,
  ): Promise<Answer> {
    try {
      if (route === undefined) throw nobody(request);
      return await route.backend.handle(request, this.#permitFor(route, request, permit));
    } catch (error) {
      const answer = mountPointAnswer(request.operation);
      if (answer === undefined || !isMissing(error) || !this.#isAbove(request.object)) throw error;
      if (!permit.sees(request.object, 'namespace')) throw error;
      return answer;
    }
  }

  /** A remote backend uses the permit for listings only. */
  #permitFor(route: BackendRoute, { operation }: CatalogRequest, permit: Permit): Permit {
    const territory = this.#territories.get(route);
    const isIncluded = route === this.#embedded || operation.access === 'list';
    return territory === undefined || !isIncluded ? permit : new RoutedPermit(permit, territory);
  }

  #territoryOf(route: BackendRoute): Territory {
    return {
      // An object, or as a namespace something in it, is the route's to answer for.
      serves: (object) => this.#at(object) === route || object.length === 0,
      servesBelow: (object) => this.#servesBelow(route, object),
    };
  }

  /** Whether a pattern of the route covers all of a subtree, and none before it has a part of that. */
  #servesBelow(route: BackendRoute, object: ObjectPath): boolean {
    if (object.length === 0 || object[0] === RESERVED) return false;
    for (const each of this.#routes) {
      for (const pattern of each.namespaces) {
        if (each === route && pattern.below && patternMatches(pattern, object)) return true;
        if (each !== route && intersect(pattern, subtreeOf(object)) !== undefined) return false;
      }
    }
    return false;
  }

  #checkTarget({ target }: CatalogRequest, route: BackendRoute | undefined): void {
    if (target === undefined || this.#at(target) === route) return;
    throw new CatalogError(
      'InvalidInput',
      `${canonicalPath(target)} is served by another backend: a table cannot be renamed from one to another`,
    );
  }

  #routeOf({ operation, object }: Aim): BackendRoute | undefined {
    if (operation.object === 'root' || namesOne(operation)) return this.#at(object);
    return (
      this.#embedded ?? this.#at([]) ?? (this.#routes.length === 1 ? this.#routes[0] : undefined)
    );
  }

  #at(object: ObjectPath): BackendRoute | undefined {
    if (object[0] === RESERVED) return this.#embedded;
    for (const route of this.#routes) {
      for (const pattern of route.namespaces) if (patternMatches(pattern, object)) return route;
    }
    return undefined;
  }

  /** Whether a namespace has something in it that some backend serves, though itself it may lie nowhere. */
  #isAbove(object: ObjectPath): boolean {
    return object.length === 0 || listedNames(object, this.#mounts).length > 0;
  }
}

/** Whether the route names the object that decides. The id of a transaction is none. */
function namesOne(operation: Operation): boolean {
  return namesObject(operation) && operation.object !== 'transaction';
}

/** The fixed names that a pattern begins with. */
function fixedOf({ segments }: Pattern): ObjectPath {
  const open = segments.indexOf(null);
  const fixed = open < 0 ? segments : segments.slice(0, open);
  return fixed.filter((segment) => segment !== null);
}

function isMissing(error: unknown): boolean {
  return error instanceof CatalogError && error.row.name === 'NamespaceNotFound';
}

function nobody({ operation, object }: CatalogRequest): CatalogError {
  if (operation.object !== 'root' && !namesOne(operation)) {
    return new CatalogError(
      'Unsupported',
      `${operation.name} names its objects in the body, so it is not known which backend it is for`,
    );
  }
  const name = operation.object === 'table' ? 'TableNotFound' : 'NamespaceNotFound';
  return new CatalogError(name, `no backend serves ${canonicalPath(object)}`);
}
