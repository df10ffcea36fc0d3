import { constants, type Http2ServerResponse, type ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { IncomingRequest } from './message.ts';

/**
 * Control bytes that a connection may send at once and in a second. Clients send a few
 * kilobytes: acknowledgements, PINGs, and a WINDOW_UPDATE for each piece of an answer.
 */
const BURST_BYTES = 2 ** 20;
const SECOND_BYTES = 2 ** 18;
/** Control bytes that a client may send for each request beside its headers, for each byte of a body, and for each byte of an answer. */
const REQUEST_BYTES = 256;
const BODY_SHARE = 1 / 4;
const ANSWER_SHARE = 1 / 16;
/** Control bytes that a request counts for when its client resets it: it costs more than its frames. */
const RESET_BYTES = 2 ** 12;
/** Interval between two looks at all connections, in ms. */
const LOOK_MILLIS = 250;

interface Traffic {
  readonly session: ServerHttp2Session;
  readonly socket: Socket;
  /** Bytes of received requests, and the bytes of control frames that they justify. */
  due: number;
  /** `due` and bytes moved at the last look. */
  seen: number;
  /** Control bytes that are not yet forgotten. */
  level: number;
}

const traffic = new WeakMap<object, Traffic>();

/**
 * Ends HTTP/2 connections that send far more control bytes than requests and bodies: floods of
 * PRIORITY, WINDOW_UPDATE, PING, SETTINGS, empty DATA, CONTINUATION or RST_STREAM frames. Node
 * shows none of these frames, so the bytes of a connection are compared with those of its requests.
 */
export class ControlTraffic {
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #timer: NodeJS.Timeout;
  #looked = performance.now();

  constructor() {
    this.#timer = setInterval(() => this.#look(), LOOK_MILLIS).unref();
  }

  /** Watches a connection until it closes. */
  begun(session: ServerHttp2Session): void {
    const { socket } = session;
    traffic.set(session, { session, socket, due: 0, seen: movedOn(socket), level: 0 });
    this.#sessions.add(session);
    session.once('close', () => this.#sessions.delete(session));
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const now = performance.now();
    const forgotten = ((now - this.#looked) / 1000) * SECOND_BYTES;
    this.#looked = now;
    for (const session of this.#sessions) {
      const noted = traffic.get(session);
      // A destroyed session has no socket to read.
      if (noted === undefined || session.destroyed) continue;
      const seen = movedOn(noted.socket) - noted.due;
      noted.level = Math.max(0, noted.level - forgotten + seen - noted.seen);
      noted.seen = seen;
      if (noted.level > BURST_BYTES) end(session);
    }
  }
}

/** Notes the headers of a request of HTTP/2, and whether its client resets it. */
export function noteRequest({ stream }: Http2ServerResponse, headers: readonly string[]): void {
  const noted = traffic.get(stream.session ?? stream);
  if (noted === undefined) return;
  const texts = headers.reduce((sum, text) => sum + text.length, 0);
  noted.due += texts + REQUEST_BYTES;
  stream.once('close', () => {
    if (stream.rstCode === constants.NGHTTP2_NO_ERROR) return;
    noted.level += RESET_BYTES;
    if (noted.level > BURST_BYTES) end(noted.session);
  });
}

/** Notes bytes of a body that were read; nothing over HTTP/1. */
export function noteBody(incoming: IncomingRequest, bytes: number): void {
  if (!('stream' in incoming)) return;
  const noted = traffic.get(incoming.stream.session ?? incoming.stream);
  if (noted !== undefined) noted.due += bytes * (1 + BODY_SHARE);
}

/** Received bytes minus those that the answers justify. */
function movedOn({ bytesRead, bytesWritten }: Socket): number {
  return (bytesRead ?? 0) - (bytesWritten ?? 0) * ANSWER_SHARE;
}

/** The code of a GOAWAY is sent only with an error, which the server ignores. */
function end(session: ServerHttp2Session): void {
  if (session.destroyed) return;
  session.destroy(new Error('too many control frames'), constants.NGHTTP2_ENHANCE_YOUR_CALM);
}
