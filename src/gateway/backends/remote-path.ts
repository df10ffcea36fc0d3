import type { CatalogRequest } from '../../protocol/backend.ts';
import { CatalogError } from '../../protocol/errors.ts';
import type { ObjectPath } from '../../protocol/identifier.ts';
import type { Route } from '../../protocol/operations/operation.ts';

const DELIMITER = '$';

/** Its listing answers identifiers, joined by what the client chose. */
const listsIdentifiers = 'ListAllTables';

/**
 * The target of a request as a backend gets it: made again from what was
 * understood, so that both read the same. Identifiers are joined with `$`; of
 * the query only what the operation knows is left, in the order of its row.
 * @param prefix Segments that the backend's own names lack.
 * @throws CatalogError InvalidInput for a name that could be read in two ways there.
 */
export function remotePath(request: CatalogRequest, prefix: ObjectPath): string {
  const pieces = piecesOf(routeOf(request).path);
  let path = pieces[0]!;
  for (let at = 1; at < pieces.length; at += 2) {
    path += encodeURIComponent(parameterOf(request, pieces[at]!, prefix)) + pieces[at + 1]!;
  }
  const query = queryOf(request);
  return `${path}${request.dialect === 'lancedb' ? '/' : ''}${query === '' ? '' : `?${query}`}`;
}

const taken = new Map<string, readonly string[]>();

/** The path of a route in pieces, of which each second one is the name of a parameter. */
function piecesOf(path: string): readonly string[] {
  let pieces = taken.get(path);
  if (pieces === undefined) {
    pieces = path.split(/\{(\w+)\}/);
    taken.set(path, pieces);
  }
  return pieces;
}

function routeOf({ operation, method, target }: CatalogRequest): Route {
  const { routes } = operation;
  for (const route of routes) {
    const fits = method === undefined || route.method === method;
    if (fits && route.path.includes('{target}') === (target !== undefined)) return route;
  }
  return routes[0]!;
}

function parameterOf(request: CatalogRequest, name: string, prefix: ObjectPath): string {
  if (name === 'id') return identifierOf(request.object, prefix);
  if (name === 'target') return identifierOf(request.target ?? [], prefix);
  return (name === 'index_name' ? request.indexName : request.parameters?.get(name)) ?? '';
}

function identifierOf(path: ObjectPath, prefix: ObjectPath): string {
  const own = prefix.length === 0 ? path : path.slice(prefix.length);
  const bad = own.find((segment) => segment.includes(DELIMITER));
  if (bad === undefined) return own.length === 0 ? DELIMITER : own.join(DELIMITER);
  throw new CatalogError(
    'InvalidInput',
    `the name ${JSON.stringify(bad)} holds "$", which is ambiguous for a backend`,
  );
}

function queryOf({ operation, query, delimiter }: CatalogRequest): string {
  const pairs: string[] = [];
  if (operation.name === listsIdentifiers && delimiter !== DELIMITER) {
    pairs.push(`delimiter=${encodeURIComponent(delimiter)}`);
  }
  for (const name of query.size === 0 ? [] : operation.query) {
    if (name === 'delimiter') continue;
    for (const value of query.get(name) ?? []) {
      pairs.push(`${encodeURIComponent(name)}=${encodeURIComponent(value)}`);
    }
  }
  return pairs.join('&');
}
