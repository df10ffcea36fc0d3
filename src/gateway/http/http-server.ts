import { createServer, type Server } from 'node:http';
import { createSecureServer, type Http2SecureServer } from 'node:http2';
import type { Logger } from 'pino';
import type { Certificate } from './certificate.ts';

/** How long the headers of a request, or the beginning of a connection, may take. */
export const HEADERS_MILLIS = 60_000;
export const HANDSHAKE_MILLIS = 10_000;
/** Longer than the minute for which load balancers in front commonly keep a connection. */
export const KEEP_ALIVE_MILLIS = 65_000;
/** How many requests one connection of HTTP/2 may have in progress. */
const STREAMS = 128;
/** Above the limit of a request's headers, so that larger ones get an answer instead of a reset. */
const HEADER_SLACK = 64 * 1024;
const MOST_PAIRS = 1024;
const LEAST_TLS = 'TLSv1.2';

export interface Limits {
  readonly headerBytes: number;
  /** Idle timeout of a connection, in ms. */
  readonly idleMillis: number;
  /** How long the headers of a request may take; a minute when absent. */
  readonly headersMillis?: number;
}

/** A server for HTTP/1.1, or with a certificate for HTTP/2 and HTTP/1.1 over TLS (at least 1.2). */
export type HttpServer = Server | Http2SecureServer;

/** Whether connections to a server are encrypted. */
export function isSecure(server: HttpServer): server is Http2SecureServer {
  return 'setSecureContext' in server;
}

/** Makes a server with its limits; it does not listen yet. */
export function makeServer(limits: Limits, certificate: Certificate | undefined): HttpServer {
  return certificate === undefined ? plainServer(limits) : secureServer(limits, certificate);
}

function plainServer(limits: Limits): Server {
  const headersMillis = limits.headersMillis ?? HEADERS_MILLIS;
  const server = createServer({
    maxHeaderSize: limits.headerBytes,
    headersTimeout: headersMillis,
    connectionsCheckingInterval: Math.ceil(headersMillis / 2),
    requestTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MILLIS,
    insecureHTTPParser: false,
    // Checked by `admit`, which answers in JSON.
    requireHostHeader: false,
  });
  // Node silently drops headers above a count; `admit` checks the count.
  server.maxHeadersCount = 0;
  server.timeout = limits.idleMillis;
  return server;
}

function secureServer(limits: Limits, certificate: Certificate): Http2SecureServer {
  const headersMillis = limits.headersMillis ?? HEADERS_MILLIS;
  const server = createSecureServer({
    ...certificate.texts,
    allowHTTP1: true,
    minVersion: LEAST_TLS,
    handshakeTimeout: HANDSHAKE_MILLIS,
    // Clients without a valid certificate can use a key: `identify` checks.
    requestCert: certificate.texts.ca !== undefined,
    rejectUnauthorized: false,
    maxHeaderListPairs: MOST_PAIRS,
    settings: {
      maxConcurrentStreams: STREAMS,
      maxHeaderListSize: limits.headerBytes + HEADER_SLACK,
    },
  });
  // Node reads these from an HTTP/1 server but has no option for them here.
  Object.assign(server, {
    maxHeaderSize: limits.headerBytes,
    maxHeadersCount: 0,
    headersTimeout: headersMillis,
    connectionsCheckingInterval: Math.ceil(headersMillis / 2),
    requestTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MILLIS,
    insecureHTTPParser: false,
    requireHostHeader: false,
    timeout: limits.idleMillis,
  });
  return server;
}

/** Lets new connections have each new certificate; those that are open keep theirs. */
export function watchServer(
  server: HttpServer,
  log: Logger,
  certificate: Certificate | undefined,
): void {
  certificate?.follow(
    (texts) => {
      if (isSecure(server)) server.setSecureContext({ ...texts, minVersion: LEAST_TLS });
      log.info('a new certificate is in force');
    },
    (why) => log.error({ why }, 'the certificate was refused; the last good one stays in force'),
  );
}
