import { CatalogError } from '../../protocol/errors.ts';
import { isGzip } from './content-coding.ts';
import type { IncomingRequest } from './message.ts';

/** More headers than any client of the protocol sends; each costs work in every reader after this one. */
const MOST_HEADERS = 128;

/**
 * Headers whose second value could be read by one reader and missed by another.
 * Control characters never come so far: Node's parser refuses them.
 */
const single: ReadonlySet<string> = new Set([
  'authorization',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'transfer-encoding',
  'user-agent',
  'x-api-key',
  'x-request-id',
]);
const singlePrefixes = ['x-service-', 'x-lance-', 'x-lancedb-', 'x-arrowgate-'];

/**
 * Refuses a request whose head two readers could take for different requests
 * (RFC 9112 section 11.2), as far as the parser let it through.
 * @throws CatalogError InvalidInput
 */
export function checkFraming(incoming: IncomingRequest): void {
  checkVersion(incoming);
  if (incoming.url?.startsWith('/') !== true) {
    throw new CatalogError('InvalidInput', 'the target of a request must be a path');
  }
  checkNames(incoming);
  checkAuthority(incoming);
  checkConnection(incoming.headers.connection);
  checkOnly(incoming.headers.expect, 'expectation', '100-continue');
  checkOnly(incoming.headers['transfer-encoding'], 'transfer coding', 'chunked');
  checkCoding(incoming);
}

function checkVersion({ httpVersion, headers, rawHeaders }: IncomingRequest): void {
  if (httpVersion === '1.1') return;
  // HTTP/2 on a connection that is not framed as such has no pseudo header.
  if (httpVersion === '2.0' && rawHeaders[0]?.startsWith(':') === true) return;
  if (httpVersion !== '1.0') {
    throw new CatalogError('InvalidInput', `HTTP/${httpVersion} is not supported`);
  }
  if (headers['transfer-encoding'] !== undefined) {
    throw new CatalogError('InvalidInput', 'HTTP/1.0 has no transfer coding');
  }
}

function checkNames({ rawHeaders: raw, headers }: IncomingRequest): void {
  if (raw.length > 2 * MOST_HEADERS) {
    throw new CatalogError('InvalidInput', `more than ${MOST_HEADERS} headers are not allowed`);
  }
  // As many names as headers: no name is repeated.
  let names = 0;
  for (const _ in headers) names += 1;
  if (2 * names === raw.length) return;
  let seen: Set<string> | undefined;
  for (let index = 0; index < raw.length; index += 2) {
    const name = (raw[index] ?? '').toLowerCase();
    if (!isSingle(name)) continue;
    seen ??= new Set();
    if (seen.has(name)) {
      throw new CatalogError('InvalidInput', `the header ${name} is given more than once`);
    }
    seen.add(name);
  }
}

function isSingle(name: string): boolean {
  if (single.has(name)) return true;
  return name.startsWith('x-') && singlePrefixes.some((prefix) => name.startsWith(prefix));
}

function checkAuthority({ httpVersion, headers }: IncomingRequest): void {
  const { host } = headers;
  const authority = headers[':authority'];
  if (httpVersion === '1.1' && host === undefined) {
    throw new CatalogError('InvalidInput', 'the Host header is missing');
  }
  if (typeof authority === 'string' && host !== undefined && host !== authority) {
    throw new CatalogError('InvalidInput', 'the Host header and :authority differ');
  }
}

/** Proxies drop headers that are named here, so headers that define the request must not be named. */
function checkConnection(connection: string | undefined): void {
  if (connection === undefined || connection === 'keep-alive' || connection === 'close') return;
  for (const named of connection.split(',')) {
    const name = named.trim().toLowerCase();
    if (isSingle(name)) {
      throw new CatalogError('InvalidInput', `the Connection header names ${name}`);
    }
  }
}

function checkCoding(incoming: IncomingRequest): void {
  const coding = incoming.headers['content-encoding'];
  if (coding === undefined || coding.toLowerCase() === 'identity' || isGzip(incoming)) return;
  throw new CatalogError('InvalidInput', 'the only supported content coding is gzip');
}

function checkOnly(value: string | undefined, what: string, allowed: string): void {
  if (value === undefined || value.toLowerCase() === allowed) return;
  throw new CatalogError('InvalidInput', `the only supported ${what} is ${allowed}`);
}
