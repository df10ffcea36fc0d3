import { isDeepStrictEqual } from 'node:util';
import type { CatalogRequest } from '../../protocol/backend.ts';
import { branchOfRoute, mayNameBranch } from '../../protocol/branch.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { canonicalPath, type ObjectPath } from '../../protocol/identifier.ts';
import type { Action } from '../../protocol/operations/operation.ts';
import type { OperationName } from '../../protocol/operations/operation-name.ts';
import { namesObject } from '../../protocol/operations/operations.ts';
import type { Permit } from '../../protocol/permit.ts';
import { refusedUnderRestrictions } from '../../protocol/restrictions.ts';
import { hasBody } from './bounded-body.ts';

/** A backend that cannot use a permit. */
export interface Guarded {
  readonly name: string;
  readonly prefix: ObjectPath;
  readonly trust: ReadonlySet<OperationName>;
  /** Whether it was seen to refuse a body that names another object than the route. */
  readonly checksBodies: boolean;
}

/** The part of a request that the guard judges. */
export type GuardedRequest = Pick<
  CatalogRequest,
  'operation' | 'object' | 'root' | 'query' | 'headers' | 'method' | 'unmeasured'
>;

type Rule = (request: GuardedRequest, permit: Permit, backend: Guarded) => void;

/**
 * Refuses requests that a backend elsewhere, remote or behind a proxy at `/authorize`, would decide by
 * itself: it gets the judged route and headers, but only it reads the body. Operations that the
 * configuration trusts it with pass, except with a branch: the backend knows no lines for branches.
 * @throws CatalogError Unsupported if no caller could pass; PermissionDenied
 */
export function guard(request: GuardedRequest, permit: Permit, backend: Guarded): void {
  restricted(request, permit);
  branchesOfBody(request, permit, backend);
  databases(request, backend);
  if (backend.trust.has(request.operation.name)) return;
  for (const rule of rules) rule(request, permit, backend);
}

/** Whatever a backend elsewhere is trusted with: it knows no restrictions. */
function restricted({ operation, object }: GuardedRequest, permit: Permit): void {
  if (operation.restricted === 'harmless') return;
  const restrictions = permit.restrictionsOn(object);
  if (restrictions === null) return;
  const { name } = operation;
  const { names } = restrictions;
  throw new CatalogError(
    'PermissionDenied',
    refusedUnderRestrictions(permit.principal.subject, name, object, names),
  );
}

const rules: readonly Rule[] = [objectsOfBody, commits, modesOfBody, locations, mismatches];

/**
 * Names in a body begin at the root of the request's database. A backend reads them from its own root,
 * so they must be the same, or the body must name nothing that is acted upon.
 */
function databases(request: GuardedRequest, backend: Guarded): void {
  const { operation, root = [] } = request;
  if (root.length === 0 || isDeepStrictEqual(root, backend.prefix)) return;
  const lists = operation.object === 'root';
  const unread = operation.body === 'json' && hasBody(request) && !backend.checksBodies;
  if (!lists && !unread && operation.objectsInBody === undefined) return;
  throw new CatalogError(
    'Unsupported',
    `${operation.name} is not forwarded to the backend ${backend.name} in a database: its names do not begin at the root of the database`,
  );
}

function objectsOfBody({ operation }: GuardedRequest, _: Permit, backend: Guarded): void {
  const { object, objectsInBody } = operation;
  const named = object === 'root' || (namesObject(operation) && object !== 'transaction');
  if (named && objectsInBody === undefined) return;
  throw untrusted(operation.name, backend, 'its objects are in the body');
}

/**
 * A branch in the body is not judged, even if it differs from that of the query, so the deciding lines
 * must give the same result on every branch.
 */
function branchesOfBody(request: GuardedRequest, permit: Permit, { name }: Guarded): void {
  const { operation, object, query } = request;
  if (!mayNameBranch(operation)) return;
  if (!hasBody(request)) {
    if (branchOfRoute(operation, query) === null) permit.require(operation.name, object);
  } else if (!permit.holdsOnBranches(operation.name, object)) {
    throw new CatalogError(
      'PermissionDenied',
      `${permit.principal.subject} may not ${operation.name} on ${canonicalPath(object)} on every branch, and which one the body names is not asked by the backend ${name}`,
    );
  }
}

/** A new version is a staged file; only its backend can check who may name it. */
function commits({ operation }: GuardedRequest, _: Permit, backend: Guarded): void {
  if (operation.name !== 'CreateTableVersion') return;
  throw untrusted(operation.name, backend, 'its commit is in the body');
}

/** The body of a description can ask for credentials; a caller with all rights that these could give may have them. */
function modesOfBody(request: GuardedRequest, permit: Permit, backend: Guarded): void {
  const { operation, object } = request;
  if (operation.modeIn !== 'body') return;
  if (operation.name !== 'DescribeTable') {
    throw untrusted(operation.name, backend, 'its mode is in the body');
  }
  if (!hasBody(request)) return;
  for (const action of ['QueryTable', 'CreateTableVersion'] as const) {
    if (!permit.holdsOnBranches(action, object)) {
      throw unguarded(action, object, request, backend, 'its body can ask for credentials');
    }
  }
}

const placing = ['x-service-table-location', 'x-lance-table-location'];

function locations({ operation, headers }: GuardedRequest, _: Permit, backend: Guarded): void {
  const chosen = placing.find((header) => headers[header] !== undefined);
  if (chosen === undefined || !operation.headers.includes(chosen)) return;
  throw untrusted(operation.name, backend, `${chosen} chooses where the table lies`);
}

/** A caller that may do the same to everything gains nothing by naming another object in the body. */
function mismatches(request: GuardedRequest, permit: Permit, backend: Guarded): void {
  const { operation } = request;
  // The body of a listing stays here.
  if (operation.access === 'list' || operation.body === 'arrow') return;
  if (backend.checksBodies || !hasBody(request)) return;
  const actions: readonly Action[] =
    operation.name === 'DescribeTable'
      ? ['DescribeTable', 'QueryTable', 'CreateTableVersion']
      : [operation.name];
  const lacking = actions.find((action) => !permit.holdsBelow(action, backend.prefix));
  if (lacking === undefined) return;
  const why = 'the backend was not seen to refuse a body that names another object than the route';
  throw unguarded(lacking, backend.prefix, request, backend, why);
}

function untrusted(name: OperationName, backend: Guarded, why: string): CatalogError {
  return new CatalogError(
    'Unsupported',
    `${name} is not forwarded to the backend ${backend.name}: ${why}, and it is not trusted with that`,
  );
}

function unguarded(
  lacking: Action,
  object: ObjectPath,
  request: GuardedRequest,
  backend: Guarded,
  why: string,
): CatalogError {
  const below = object === request.object ? '' : ' and all below';
  const who = `${request.operation.name} is forwarded to the backend ${backend.name} only for those who may ${lacking} on ${canonicalPath(object)}${below}`;
  return new CatalogError('PermissionDenied', `${who}: ${why}`);
}
