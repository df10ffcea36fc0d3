import { contextOf } from '../protocol/context.ts';
import { CatalogError } from '../protocol/errors.ts';
import { matchRoute } from '../protocol/route.ts';
import { grown } from './passage.ts';
import type { Received, Routed } from './steps.ts';

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
 * a route outside the operation table; MethodRefused
 */
export function route(received: Received): Routed {
  const { method = '', url = '', headers } = received.incoming;
  const match = matchRoute(method, url, headers['user-agent']);
  if (match.kind === 'operation') {
    return grown(received, { route: match, context: contextOf(headers) });
  }
  if (match.kind === 'method') throw new MethodRefused(method, match.allow);
  throw new CatalogError('Unsupported', `no such operation: ${method} ${pathOf(url)}`);
}

/** The path of a request target: without its query, which may hold secrets, and with one leading slash. */
export function pathOf(target: string): string {
  const query = target.indexOf('?');
  const path = query < 0 ? target : target.slice(0, query);
  return path.startsWith('//') ? path.replace(/^\/+/, '/') : path;
}
