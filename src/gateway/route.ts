import { BoundedCache } from '../policy/lines/bounded-cache.ts';
import { contextOf } from '../protocol/context.ts';
import { rootOf, type Databases } from '../protocol/database.ts';
import { isLanceDbClient } from '../protocol/dialect.ts';
import { CatalogError } from '../protocol/errors.ts';
import { canonicalPath, type ObjectPath } from '../protocol/identifier.ts';
import { matchRoute, withRoot, type RouteMatch } from '../protocol/route.ts';
import { KnownRoute } from './decision/known-route.ts';
import { requireRepeatable } from './admit.ts';
import { advance } from './passage.ts';
import type { Received, Routed } from './decision/steps.ts';

/** Routes that clients of LanceDB call and that no operation here serves, by what they are about. */
const families: readonly (readonly [what: string, path: RegExp])[] = [
  ['views', /^\/v1\/(view\/[^/]+\/[a-z_]+|namespace\/[^/]+\/view\/list)$/],
  ['secrets', /^\/v1\/(secret\/[^/]+\/[a-z_]+|namespace\/[^/]+\/secret\/list)$/],
  ['functions', /^\/v1\/(function\/[^/]+\/[a-z_]+|namespace\/[^/]+\/function\/list)$/],
  ['errors of functions', /^\/v1\/table\/[^/]+\/errors$/],
  [
    'materialized views',
    /^\/v1\/(materialized_view\/[^/]+\/[a-z_]+|namespace\/[^/]+\/materialized_view\/list)$/,
  ],
  ['pauses of jobs', /^\/v1\/jobs\/(pause|resume)$/],
];

/**
 * The unsupported feature to which a path of a LanceDB client belongs; undefined for other paths.
 * @param path Without its query.
 */
export function unsupportedBy(path: string): string | undefined {
  const plain = path.length > 1 ? path.replace(/\/$/, '') : path;
  return families.find(([, pattern]) => pattern.test(plain))?.[0];
}

/** A path that exists, but not with this method (RFC 9110 section 15.5.6). */
export class MethodRefused extends CatalogError {
  readonly allow: readonly string[];

  constructor(method: string, allow: readonly string[]) {
    super(
      'Unsupported',
      `${method} is not a method of this operation; it takes ${allow.join(', ')}`,
    );
    this.allow = allow;
  }
}

/**
 * Finds the operation and the object that a request names.
 * @throws CatalogError InvalidInput for an ambiguous spelling, Unsupported for
 * a route outside the operation table, InvalidInput for a mutation with an invalid request id; MethodRefused
 * @param databases Those that a header may name.
 */
export function route(received: Received, databases?: Databases): Routed {
  const { method = '', url = '', headers } = received.incoming;
  const database = rootOf(headers, databases);
  const root = 'unknown' in database ? NOWHERE : database;
  const match = matched(method, url, headers['user-agent'], root);
  if (match.kind === 'operation') {
    if (match.operation.mutates) requireRepeatable(received);
    const unknownDatabase = 'unknown' in database ? database.unknown : undefined;
    return advance(received, { route: match, context: contextOf(headers), unknownDatabase });
  }
  if (match.kind === 'method') throw new MethodRefused(method, match.allow);
  const path = targetPath(url);
  const what = unsupportedBy(path);
  throw new CatalogError(
    'Unsupported',
    what === undefined
      ? `no such operation: ${method} ${path}`
      : `this service does not support ${what}: it cannot answer ${method} ${path}`,
  );
}

const NOWHERE: ObjectPath = [];

/** How many targets are known again, and the longest of them. */
const KNOWN_TARGETS = 4096;
const KNOWN_LENGTH = 256;

/** A target with what it was last, and for what kind of request. */
interface KnownTarget {
  readonly method: string;
  readonly isLanceDb: boolean;
  readonly route: KnownRoute;
}

const cache = new BoundedCache<string, KnownTarget>(KNOWN_TARGETS);

/** As `matchRoute`, which is a good part of a small request's work. A query may hold secrets: targets with one are not kept. */
function matched(
  method: string,
  url: string,
  userAgent: string | undefined,
  root: ObjectPath,
): RouteMatch {
  if (url.length > KNOWN_LENGTH || url.includes('?')) {
    return rooted(matchRoute(method, url, userAgent), root);
  }
  const isLanceDb = isLanceDbClient(userAgent);
  // No target holds a space.
  const key = root.length === 0 ? url : `${url} ${canonicalPath(root)}`;
  const before = cache.find(key);
  if (before?.method === method && before.isLanceDb === isLanceDb) return before.route;
  const match = rooted(matchRoute(method, url, userAgent), root);
  if (match.kind !== 'operation') return match;
  const route = new KnownRoute(match);
  cache.keep(key, { method, isLanceDb, route });
  return route;
}

function rooted(match: RouteMatch, root: ObjectPath): RouteMatch {
  return match.kind === 'operation' ? withRoot(match, root) : match;
}

/** The path of a request target: without its query, which may hold secrets, and with one leading slash. */
export function targetPath(target: string): string {
  const query = target.indexOf('?');
  const path = query < 0 ? target : target.slice(0, query);
  return path.startsWith('//') ? path.replace(/^\/+/, '/') : path;
}
