import { once, type EventEmitter } from 'node:events';
import { constants, type Http2ServerResponse } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Certificate } from './http/certificate.ts';
import { refuseBytes, refuseTunnel } from './client-error.ts';
import { writeGroup } from './http/answer-group.ts';
import { Connections } from './http/connections.ts';
import { ControlTraffic, noteRequest } from './http/control-traffic.ts';
import { exchange } from './exchange.ts';
import type { Gateway } from './gateway.ts';
import {
  watchServer,
  isSecure,
  makeServer,
  type HttpServer,
  type Limits,
} from './http/http-server.ts';
import { isHttp2, type IncomingRequest, type OutgoingResponse } from './http/message.ts';
import type { Site } from './plain.ts';
import { randomUUID } from 'node:crypto';
import { CatalogError } from '../protocol/errors.ts';
import { connectionsWithin, descriptorLimit } from '../storage/descriptors.ts';
import { errorBody } from './outcome.ts';

/** Size that HTTP/2 counts for a header besides its name and value (RFC 9113 section 6.5.2). */
const ENTRY_BYTES = 32;
const TOO_LARGE = 431;

/** Whether headers are larger than a limit. Over HTTP/1 the parser counts. */
function isTooLarge(raw: readonly string[], limit: number): boolean {
  const texts = raw.reduce((sum, text) => sum + text.length, 0);
  return texts + (raw.length / 2) * ENTRY_BYTES > limit;
}

/** Answers a stream whose headers are too large, as the parser of HTTP/1 has it answered. */
function refuseHeaders(response: Http2ServerResponse): void {
  const requestId = randomUUID();
  const error = new CatalogError('InvalidInput', 'the headers are too large');
  response.writeHead(TOO_LARGE, { 'content-type': 'application/json', 'x-request-id': requestId });
  response.end(errorBody(error, requestId));
}

/** Ends a stream after an idle time. */
function limitStill({ stream }: Http2ServerResponse, milliseconds: number): void {
  stream.setTimeout(milliseconds, () => stream.close(constants.NGHTTP2_CANCEL));
}

const SWEEP_MILLIS = 50;
/** How long clients that still send after their answer can delay a stop, in ms. */
export const LATE_BODY_MILLIS = 1_000;
/** Grace period after connections are cut, in ms. */
export const CUT_GRACE_MILLIS = 5_000;

export interface ServerOptions extends Limits {
  readonly host: string;
  /** 0 takes any free one. */
  readonly port: number;
  /** Path of a Unix socket of this process alone, which is listened on instead. */
  readonly socket?: string;
  /** How long requests in flight may continue after `stop()`, in ms. */
  readonly drainMillis: number;
  /** Connections that may wait to be accepted; Node's default if absent. */
  readonly backlog?: number;
  /** Connections that are open at once; follows `ulimit -n` if absent. */
  readonly connections?: number;
  /** Enables TLS and HTTP/2. */
  readonly certificate?: Certificate;
  /** The pages that are served; all by default. */
  readonly site?: Site;
}

export interface Listening {
  /** Or the path of the socket. */
  readonly url: string;
  /** Asks clients not to reuse connections; requests are still served. */
  announce(): void;
  /** Accepts nothing more, finishes requests in flight within the drain time, and closes. */
  stop(): Promise<void>;
}

/** Serves the gateway over HTTP. Rejects with the system's error when it cannot listen. */
export async function listen(gateway: Gateway, options: ServerOptions): Promise<Listening> {
  const server = makeServer(options, options.certificate);
  server.maxConnections = options.connections ?? connectionsWithin(descriptorLimit);
  const connections = new Connections();
  const control = new ControlTraffic();
  const serving: Serving = { server, gateway, connections, control, options };
  wire(serving);
  await started(serving);
  const slow = setInterval(() => connections.closeSlow(), options.idleMillis).unref();
  return {
    url: options.socket ?? urlOf(server, options.host),
    announce: () => {
      gateway.drain.begin();
      connections.announce();
    },
    stop: () =>
      stop(serving).finally(() => {
        clearInterval(slow);
        control.close();
      }),
  };
}

interface Serving {
  readonly server: HttpServer;
  readonly gateway: Gateway;
  readonly connections: Connections;
  readonly control: ControlTraffic;
  readonly options: ServerOptions;
}

function wire(serving: Serving): void {
  const { gateway, connections, options } = serving;
  const events: EventEmitter = serving.server;
  const take = taker(serving);
  wireConnections(serving);
  events.on('request', (incoming: IncomingRequest, outgoing: OutgoingResponse) =>
    take(incoming, outgoing, false),
  );
  events.on('checkContinue', (incoming: IncomingRequest, outgoing: OutgoingResponse) =>
    take(incoming, outgoing, true),
  );
  events.on('checkExpectation', (incoming: IncomingRequest, outgoing: OutgoingResponse) =>
    take(incoming, outgoing, false),
  );
  events.on('connect', (incoming: IncomingRequest, other: Socket | Http2ServerResponse) => {
    if ('stream' in other) take(incoming, other, false);
    else refuseTunnel(other);
  });
  events.on('clientError', (error: Error, socket: Socket) => {
    // The answers to valid requests before these bytes go out first.
    writeGroup();
    refuseBytes(error, socket, connections.latest(socket));
  });
  // A connection too many was refused: the next attempt finds the place of a client that is idle.
  events.on('drop', () => connections.closeAnswered());
  watchServer(serving.server, gateway.log, options.certificate);
}

/** Begins the exchange of a request. */
function taker({ gateway, connections, options }: Serving) {
  const site = options.site ?? 'all';
  return (incoming: IncomingRequest, outgoing: OutgoingResponse, waiting: boolean): void => {
    if (isHttp2(outgoing)) {
      connections.streaming(outgoing);
      noteRequest(outgoing, incoming.rawHeaders);
      limitStill(outgoing, options.idleMillis);
      if (isTooLarge(incoming.rawHeaders, options.headerBytes)) return refuseHeaders(outgoing);
    } else {
      connections.answering(incoming.socket, outgoing);
    }
    gateway.drain.track(exchange(gateway, incoming, outgoing, { waiting, site }));
  };
}

function wireConnections({ server, connections, control }: Serving): void {
  if (!isSecure(server)) {
    server.on('connection', (socket) => connections.opened(socket));
    return;
  }
  server.on('connection', (socket) => connections.shaking(socket));
  server.on('secureConnection', (socket) => {
    if (socket.alpnProtocol !== 'h2') connections.opened(socket);
  });
  server.on('session', (session) => {
    connections.begun(session);
    control.begun(session);
  });
}

async function started({ server, gateway, options }: Serving): Promise<void> {
  const { port, host, backlog, socket } = options;
  const place = socket === undefined ? { port, host } : { path: socket, exclusive: true };
  server.listen({ ...place, ...(backlog === undefined ? {} : { backlog }) });
  await once(server, 'listening');
  server.on('error', (error) => gateway.log.error({ err: error }, 'the listener failed'));
}

function urlOf(server: HttpServer, host: string): string {
  const { port } = server.address() as AddressInfo;
  const scheme = isSecure(server) ? 'https' : 'http';
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

async function stop({ server, gateway, connections, options }: Serving): Promise<void> {
  gateway.drain.refuse();
  if (!server.listening) return;
  const closed = once(server, 'close');
  server.close();
  connections.closeIdle();
  // Connections turn idle one by one as their requests end.
  const sweep = setInterval(() => connections.closeIdle(), SWEEP_MILLIS);
  await within(options.drainMillis, emptied(gateway, closed));
  clearInterval(sweep);
  connections.closeAll();
  await within(CUT_GRACE_MILLIS, Promise.all([closed, gateway.drain.idle()]));
}

/** Resolves when no request is in flight and answered clients have sent the rest of their requests. */
async function emptied(gateway: Gateway, closed: Promise<unknown>): Promise<void> {
  await gateway.drain.idle();
  await within(LATE_BODY_MILLIS, closed);
}

/** Waits for the work, at most for this time. */
async function within(milliseconds: number, work: Promise<unknown>): Promise<void> {
  const timer = new AbortController();
  const { signal } = timer;
  const timeout = sleep(milliseconds, undefined, { signal }).catch(() => undefined);
  await Promise.race([work, timeout]);
  timer.abort();
}
