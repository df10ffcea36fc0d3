import { CatalogError } from '../../protocol/errors.ts';
import type { Received } from '../../gateway/decision/steps.ts';
import type { IncomingRequest } from '../../gateway/http/message.ts';
import type { Networks } from '../../gateway/http/networks.ts';

/** How a browser reaches the console. */
export interface Transport {
  /** Whether TLS ends here or at a trusted proxy. */
  readonly secure: boolean;
  /** Scheme, host and port as the browser has them. */
  readonly origin: string;
}

const LOOPBACK = /^(127(\.\d{1,3}){3}|::1)$/;
const LOCAL_HOST = /^(localhost|[\w-]+\.localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i;

/**
 * The transport of a request with a session, or one that begins a session.
 * @throws CatalogError PermissionDenied over plain http from another machine, or under another name than that of this one
 */
export function transportOf({ incoming, sourceIp }: Received, trusted: Networks): Transport {
  const peer = (incoming.socket.remoteAddress ?? '').replace(/^::ffff:/, '');
  const isProxied = trusted.has(peer);
  const host = hostOf(incoming, isProxied);
  const secure =
    'encrypted' in incoming.socket ||
    (isProxied && lastOf(incoming.headers['x-forwarded-proto']) === 'https');
  if (secure) return { secure, origin: `https://${host}` };
  // A name that leads to this machine may be anybody's: only names that always mean it count.
  if (LOOPBACK.test(sourceIp) && LOCAL_HOST.test(host)) return { secure, origin: `http://${host}` };
  throw new CatalogError(
    'PermissionDenied',
    'over plain http, the console works on this machine only: use https, or a tunnel such as ssh -L 2333:127.0.0.1:2333 HOST and http://127.0.0.1:2333/console/',
  );
}

/**
 * Refuses what another site has a browser send. A client that names neither site nor origin is no browser.
 * @throws CatalogError PermissionDenied
 */
export function requireSameOrigin({ headers }: IncomingRequest, { origin }: Transport): void {
  const site = headers['sec-fetch-site'];
  const isOwnSite = site === undefined || site === 'same-origin';
  const isOwnOrigin = headers.origin === undefined || headers.origin === origin;
  if (isOwnSite && isOwnOrigin) return;
  throw new CatalogError(
    'PermissionDenied',
    `requests from other sites are refused: open ${origin}/console/ and sign in there`,
  );
}

function hostOf({ headers }: IncomingRequest, isProxied: boolean): string {
  const authority = headers[':authority'];
  const own = headers.host ?? (typeof authority === 'string' ? authority : '');
  return (isProxied ? lastOf(headers['x-forwarded-host']) : undefined) ?? own;
}

/** The entry of the proxy that is next to the gateway. */
function lastOf(header: string | readonly string[] | undefined): string | undefined {
  return [header ?? []].flat().join(',').split(',').at(-1)?.trim() || undefined;
}
