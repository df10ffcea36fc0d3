import type { ServerResponse } from 'node:http';
import { constants, type Http2ServerResponse, type ServerHttp2Session } from 'node:http2';
import type { Duplex } from 'node:stream';

/** State of an HTTP/1 connection. */
interface Connection {
  /** The response to its latest request; earlier ones end before it. */
  latest: ServerResponse | undefined;
  /** The response that was awaited at the last look for slow clients, and the bytes moved until then. */
  looked: ServerResponse | undefined;
  moved: number;
}

/** State of an HTTP/2 connection. */
interface Session {
  /** The responses to its requests that are in progress. */
  readonly streams: Set<Http2ServerResponse>;
  /** Whether a request came on it. */
  used: boolean;
  /** Those that waited for the client at the last look, and the bytes moved on the whole until then. */
  looked: ReadonlySet<Http2ServerResponse>;
  moved: number;
}

/** Greatest stream id: a GOAWAY with it refuses no stream that a client has already begun (RFC 9113 section 6.8). */
const LAST_STREAM = 2 ** 31 - 1;
/** A client that moves fewer bytes between two looks holds its connection open on purpose. */
const LEAST_BYTES = 64 * 1024;

/**
 * The open connections, each with its latest response. Node's own list takes a
 * connection that never sent anything for a busy one, and would hold up a stop.
 */
export class Connections {
  readonly #connections = new Map<Duplex, Connection>();
  readonly #sessions = new Map<ServerHttp2Session, Session>();
  /** Connections that are not encrypted yet, though they should be. */
  readonly #shaking = new Set<Duplex>();
  #announced = false;

  /** Notes a new connection of HTTP/1 until it closes. */
  opened(socket: Duplex): void {
    this.#connections.set(socket, { latest: undefined, looked: undefined, moved: 0 });
    socket.once('close', () => this.#connections.delete(socket));
  }

  /** Notes a connection that begins to shake hands, until it closes. */
  shaking(socket: Duplex): void {
    this.#shaking.add(socket);
    socket.once('close', () => this.#shaking.delete(socket));
  }

  /** Notes a new connection of HTTP/2 until it closes. */
  begun(session: ServerHttp2Session): void {
    const state: Session = { streams: new Set(), used: false, looked: new Set(), moved: 0 };
    this.#sessions.set(session, state);
    session.once('close', () => this.#sessions.delete(session));
    // One that begins during a shutdown gets an answer to its first request.
    session.once('stream', () => {
      state.used = true;
      if (this.#announced) announceClose(session);
    });
  }

  /** Tells every client of HTTP/2 to begin no further stream; those in progress, and those on their way, are served. */
  announce(): void {
    this.#announced = true;
    for (const session of this.#sessions.keys()) announceClose(session);
  }

  /** Notes the response to the latest request of a connection of HTTP/1. */
  answering(socket: Duplex, response: ServerResponse): void {
    const connection = this.#connections.get(socket);
    if (connection !== undefined) connection.latest = response;
  }

  /** Notes the response to a request of HTTP/2 until its stream closes. */
  streaming(response: Http2ServerResponse): void {
    const { stream } = response;
    const streams =
      stream.session && this.#sessions.get(stream.session as ServerHttp2Session)?.streams;
    streams?.add(response);
    stream.once('close', () => streams?.delete(response));
  }

  /** The response to the latest request of a connection. */
  latest(socket: Duplex): ServerResponse | undefined {
    return this.#connections.get(socket)?.latest;
  }

  /** Closes connections whose requests are all answered; those without a request are left. */
  closeAnswered(): void {
    for (const [socket, { latest }] of this.#connections) {
      if (latest !== undefined && isIdle(latest)) socket.destroy();
    }
    for (const [session, { streams, used }] of this.#sessions) {
      if (used && streams.size === 0 && !session.closed) session.close();
    }
  }

  /** Closes connections on which no request is being read or answered; those of HTTP/2 take no new stream. */
  closeIdle(): void {
    for (const [socket, { latest }] of this.#connections) if (isIdle(latest)) socket.destroy();
    for (const session of this.#sessions.keys()) if (!session.closed) session.close();
  }

  /**
   * Cuts connections whose client has kept the same request waiting since the
   * last look, and moved next to nothing of it. One that waits for the gateway is left.
   * Of a connection of HTTP/2 only the streams that waited are ended.
   */
  closeSlow(): void {
    for (const [session, noted] of this.#sessions) endSlow(session, noted);
    for (const [socket, connection] of this.#connections) {
      const moved = movedOn(socket);
      const awaited = isAwaited(connection.latest) ? connection.latest : undefined;
      const same = awaited !== undefined && awaited === connection.looked;
      if (same && moved - connection.moved < LEAST_BYTES) socket.destroy();
      connection.looked = awaited;
      connection.moved = moved;
    }
  }

  closeAll(): void {
    for (const socket of this.#connections.keys()) socket.destroy();
    for (const session of this.#sessions.keys()) session.destroy();
    for (const socket of this.#shaking) socket.destroy();
  }
}

function announceClose(session: ServerHttp2Session): void {
  if (!session.closed && !session.destroyed)
    session.goaway(constants.NGHTTP2_NO_ERROR, LAST_STREAM);
}

function endSlow(session: ServerHttp2Session, noted: Session): void {
  if (session.destroyed) return;
  const moved = movedOn(session.socket);
  const awaited = new Set([...noted.streams].filter(isStreamAwaited));
  if (moved - noted.moved < LEAST_BYTES) {
    for (const response of awaited) {
      if (noted.looked.has(response)) response.stream.close(constants.NGHTTP2_CANCEL);
    }
  }
  noted.looked = awaited;
  noted.moved = moved;
}

function isIdle(response: ServerResponse | undefined): boolean {
  return response === undefined || (response.writableFinished && response.req.complete);
}

/** Whether the connection waits for the client: to send, or to read. */
function isAwaited(response: ServerResponse | undefined): boolean {
  if (response === undefined) return false;
  const { req } = response;
  const sending = !req.complete && req.readableLength === 0;
  return sending || response.writableLength > 0;
}

function isStreamAwaited({ req, stream }: Http2ServerResponse): boolean {
  const sending = !req.complete && req.readableLength === 0;
  return sending || stream.writableLength > 0;
}

function movedOn(socket: Duplex): number {
  const { bytesRead, bytesWritten } = socket as Duplex & {
    readonly bytesRead?: number;
    readonly bytesWritten?: number;
  };
  return (bytesRead ?? 0) + (bytesWritten ?? 0);
}
