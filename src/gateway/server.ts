import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { receive } from './admit.ts';
import { refuseBytes } from './client-error.ts';
import { Connections } from './connections.ts';
import { handleDescribed, isAuthorize } from './forward-auth.ts';
import type { Gateway } from './gateway.ts';
import { isProtocol } from './own-paths.ts';
import { handle } from './pipeline.ts';
import { handlePlain } from './plain.ts';
import { pathOf } from './route.ts';
import type { Received } from './steps.ts';

const HEADERS_MILLIS = 60_000;
/** Longer than the minute for which load balancers in front commonly keep a connection. */
const KEEP_ALIVE_MILLIS = 65_000;
const SWEEP_MILLIS = 50;
/** A client that still sends although it was answered can hold up a stop for so long. */
const LATE_MILLIS = 1_000;
/** What runs gets so long to notice that its connection was cut. */
const LAST_MILLIS = 5_000;

export interface ServerOptions {
  readonly host: string;
  /** 0 takes any free one. */
  readonly port: number;
  readonly headerBytes: number;
  /** A connection on which nothing moves for so long is cut. */
  readonly idleMillis: number;
  /** What runs may go on for so long after a stop. */
  readonly drainMillis: number;
}

/** A server that listens. */
export interface Listening {
  readonly url: string;
  /** Accepts nothing more, finishes what runs within the time given, and closes. */
  stop(): Promise<void>;
}

/** Serves the gateway over HTTP/1.1. Rejects with the system's error when it cannot listen. */
export async function listen(gateway: Gateway, options: ServerOptions): Promise<Listening> {
  const server = createServer({
    maxHeaderSize: options.headerBytes,
    headersTimeout: HEADERS_MILLIS,
    requestTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MILLIS,
    insecureHTTPParser: false,
    // Checked by `admit`, which answers in JSON.
    requireHostHeader: false,
  });
  // Node drops headers beyond a count without a word; their size is limited already.
  server.maxHeadersCount = 0;
  server.timeout = options.idleMillis;
  const connections = new Connections();
  wire(server, gateway, connections);
  await started(server, gateway, options);
  const stopping = { server, gateway, connections, options };
  return { url: urlOf(server, options.host), stop: () => stop(stopping) };
}

function wire(server: Server, gateway: Gateway, connections: Connections): void {
  const take = (incoming: IncomingMessage, response: ServerResponse, waiting: boolean): void => {
    connections.answering(incoming.socket, response);
    gateway.drain.track(exchange(gateway, incoming, response, waiting));
  };
  server.on('connection', (socket) => connections.opened(socket));
  server.on('request', (incoming, response) => take(incoming, response, false));
  server.on('checkContinue', (incoming, response) => take(incoming, response, true));
  server.on('checkExpectation', (incoming, response) => take(incoming, response, false));
  server.on('clientError', (error, socket) => {
    refuseBytes(error, socket, connections.latest(socket));
  });
}

/** One request and its answer. Never rejects: what nobody foresaw is logged and cuts the connection. */
export async function exchange(
  gateway: Gateway,
  incoming: IncomingMessage,
  response: ServerResponse,
  waiting: boolean,
): Promise<void> {
  const received = receive(incoming, response, waiting, gateway.trustedProxies);
  try {
    await handlerOf(pathOf(incoming.url ?? ''))(gateway, received);
  } catch (error) {
    gateway.log.error({ err: error, requestId: received.requestId }, 'an answer failed');
    response.destroy();
  }
}

type Handler = (gateway: Gateway, received: Received) => Promise<void>;

function handlerOf(path: string): Handler {
  if (isProtocol(path)) return handle;
  return isAuthorize(path) ? handleDescribed : handlePlain;
}

async function started(server: Server, gateway: Gateway, options: ServerOptions): Promise<void> {
  server.listen(options.port, options.host);
  await once(server, 'listening');
  server.on('error', (error) => gateway.log.error({ err: error }, 'the listener failed'));
}

function urlOf(server: Server, host: string): string {
  const { port } = server.address() as AddressInfo;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

interface Stopping {
  readonly server: Server;
  readonly gateway: Gateway;
  readonly connections: Connections;
  readonly options: ServerOptions;
}

async function stop({ server, gateway, connections, options }: Stopping): Promise<void> {
  gateway.drain.begin();
  if (!server.listening) return;
  const closed = once(server, 'close');
  server.close();
  connections.closeIdle();
  // Connections turn idle one by one as their requests end.
  const sweep = setInterval(() => connections.closeIdle(), SWEEP_MILLIS);
  await within(options.drainMillis, emptied(gateway, closed));
  clearInterval(sweep);
  connections.closeAll();
  await within(LAST_MILLIS, Promise.all([closed, gateway.drain.idle()]));
}

/** Resolves when nothing runs any more, and those who were answered have sent the rest of their requests. */
async function emptied(gateway: Gateway, closed: Promise<unknown>): Promise<void> {
  await gateway.drain.idle();
  await within(LATE_MILLIS, closed);
}

/** Waits for the work, but no longer than so. */
async function within(milliseconds: number, work: Promise<unknown>): Promise<void> {
  const timer = new AbortController();
  const { signal } = timer;
  const timeout = sleep(milliseconds, undefined, { signal }).catch(() => undefined);
  await Promise.race([work, timeout]);
  timer.abort();
}
