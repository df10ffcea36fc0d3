import { branchOfRoute } from '../../protocol/branch.ts';
import type { ObjectPath } from '../../protocol/identifier.ts';
import { choiceOf } from '../../protocol/mode.ts';
import type { Operation } from '../../protocol/operations/operation.ts';
import { namesObject } from '../../protocol/operations/operations.ts';
import { KnownRoute, type Need } from './known-route.ts';
import type { OperationRoute } from './steps.ts';
import type { Permit } from '../../protocol/permit.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { guard, type Guarded, type GuardedRequest } from '../backends/remote-guard.ts';

/** What the configuration says of a catalog behind a proxy that it does not list: whether it refuses ids in bodies that differ from the route. */
export type BodyIds = 'checked' | 'unchecked';

/** A catalog behind a proxy that the configuration does not list as a backend. */
export function unlistedCatalog(bodyIds: BodyIds): Guarded {
  return {
    name: 'behind the proxy',
    prefix: [],
    // The body of a description can ask for credentials: `refuseUnseen` demands the right to read.
    trust: new Set(bodyIds === 'checked' ? ['DescribeTable'] : []),
    checksBodies: bodyIds === 'checked',
  };
}

/** A request that a proxy describes, and will send to its catalog itself. */
interface Described {
  readonly route: RightsInput & Pick<OperationRoute, 'root'>;
  readonly permit: Permit;
  readonly method: string;
  readonly headers: GuardedRequest['headers'];
}

/**
 * Refuses what a remote backend would be refused, and answers that must be filtered: neither
 * the body nor the answer of a described request is seen. Every request but GET may have a body.
 * @param backend The properties of the catalog behind the proxy.
 * @throws CatalogError PermissionDenied
 */
export function refuseUnseen(described: Described, backend: Guarded): void {
  const { route, permit, method, headers } = described;
  const { operation } = route;
  if (operation.access === 'list') {
    throw denied(
      `the answer of ${operation.name} must be filtered, but does not pass this gateway`,
    );
  }
  const { name, trust, checksBodies } = backend;
  try {
    // The proxy forwards names unchanged, including those that the gateway would strip.
    const { object, root, query } = route;
    guard({ operation, object, root, query, method, headers, unmeasured: true }, permit, {
      name,
      trust,
      checksBodies,
      prefix: [],
    });
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error;
    throw error.row.name === 'Unsupported' ? denied(error.message) : error;
  }
  const mayAskForCredentials = operation.modeIn === 'body' && !operation.mutates;
  if (mayAskForCredentials && !permit.holdsOnBranches('read', route.object)) {
    throw denied(
      `the body of ${operation.name} may ask for credentials, which needs the right to read`,
    );
  }
}

function denied(what: string): CatalogError {
  return new CatalogError('PermissionDenied', what);
}

/** The part of a route that determines the rights of a request. */
export type RightsInput = Pick<OperationRoute, 'operation' | 'object' | 'query' | 'target'>;

/** @throws CatalogError InvalidInput for a mode that the operation does not have. */
export function needsOf(route: RightsInput): readonly Need[] {
  if (route instanceof KnownRoute) return (route.needs ??= foundNeeds(route));
  return foundNeeds(route);
}

function foundNeeds(route: RightsInput): readonly Need[] {
  return [...ownNeeds(route, modeOf(route)), ...targetNeeds(route)];
}

function ownNeeds(route: RightsInput, mode: string | undefined): readonly Need[] {
  const { operation } = route;
  const branch = branchOfRoute(operation, route.query);
  if (isOfBody(operation)) {
    return [{ action: operation.name, object: [], branch, judged: 'anywhere' }];
  }
  const object = judgedObject(route);
  const extra = mode === undefined ? undefined : operation.modes?.[mode];
  const judged = extra?.instead === true ? 'not-denied' : 'allowed';
  const further = (extra?.actions ?? []).map((action): Need => ({
    action,
    object,
    branch,
    judged: 'allowed',
  }));
  return [{ action: operation.name, object, branch, judged }, ...further];
}

/**
 * Whether the route says nothing of the objects that are decided about: the backend
 * asks the permit for those of the body, and for the table of a transaction or a job.
 */
function isOfBody(operation: Operation): boolean {
  const { object } = operation;
  if (object === 'none') return operation.objectsInBody !== undefined;
  return object === 'transaction' || (object === 'table' && !namesObject(operation));
}

/** Operations without an object need a right on everything. */
function judgedObject(route: RightsInput): ObjectPath {
  return route.operation.object === 'none' ? [] : route.object;
}

function targetNeeds(route: RightsInput): readonly Need[] {
  return route.target === undefined
    ? []
    : [{ action: 'CreateTable', object: route.target, branch: undefined, judged: 'allowed' }];
}

function modeOf({ operation, query }: RightsInput): string | undefined {
  if (operation.modeIn !== 'query') return undefined;
  return choiceOf(operation, 'mode', query.get('mode')?.[0]);
}
