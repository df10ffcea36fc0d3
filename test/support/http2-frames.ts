import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';

/** The bytes of the frame, or frames, with a number. */
export type FrameSource = (index: number) => Buffer;

/** Frames sent in one piece. */
const PIECE_FRAMES = 1000;
/** The most frames that are sent; far beyond what any connection may send. */
const MOST_FRAMES = 20_000_000;
const GOAWAY = 7;

/** An HTTP/2 connection of frames that no client library would send. */
export class Http2Frames {
  readonly #socket: TLSSocket;
  #received = Buffer.alloc(0);
  #ended = false;

  constructor(socket: TLSSocket) {
    this.#socket = socket;
    socket.on('error', () => undefined);
    socket.on('close', () => (this.#ended = true));
    socket.on('data', (bytes: Buffer) => {
      this.#received = Buffer.concat([this.#received, bytes]);
    });
    socket.write(
      Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(4, 0, 0, [])]),
    );
  }

  /** Whether the server has ended the connection. */
  get ended(): boolean {
    return this.#ended;
  }

  /** The error code of the server's last GOAWAY frame; null when none came. */
  get goaway(): number | null {
    let code: number | null = null;
    const bytes = this.#received;
    for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) {
      if (bytes[at + 3] === GOAWAY) code = bytes.readUInt32BE(at + 13);
    }
    return code;
  }

  /** Sends frames until the server ends the connection, or very many were sent. */
  async sendUntilEnd(next: FrameSource): Promise<void> {
    for (let sent = 0; !this.#ended && sent < MOST_FRAMES; sent += PIECE_FRAMES) {
      const frames = Array.from({ length: PIECE_FRAMES }, (_, index) => next(sent + index));
      const taken = this.#socket.write(Buffer.concat(frames));
      if (!taken) await drained(this.#socket);
      else await sleep(0);
    }
    this.#socket.destroy();
  }
}

/** Resolves when the server has taken what was written, or is gone. */
async function drained(socket: TLSSocket): Promise<void> {
  const settled = new AbortController();
  const { signal } = settled;
  const events = ['drain', 'close'].map((event) => once(socket, event, { signal }));
  await Promise.race(events.map((event) => event.catch(() => undefined)));
  settled.abort();
}

/** A frame (RFC 9113 section 4.1). */
function frame(type: number, flags: number, stream: number, payload: readonly number[]): Buffer {
  const bytes = Buffer.alloc(9 + payload.length);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes.writeUInt8(type, 3);
  bytes.writeUInt8(flags, 4);
  bytes.writeUInt32BE(stream, 5);
  bytes.set(payload, 9);
  return bytes;
}

/** `GET https://a/healthz`, and the same as a POST (RFC 7541, indexed fields and one literal). */
const path = [0x44, 0x08, ...Buffer.from('/healthz')];
const get = [0x82, 0x87, 0x41, 0x01, 0x61, ...path];
const post = [0x83, 0x87, 0x41, 0x01, 0x61, ...path];
const END_STREAM = 1;
const END_HEADERS = 4;

/** Floods by the kind of their frames. */
export const floods = {
  PRIORITY: (index) => frame(2, 0, 1 + 2 * (index % 50), [0, 0, 0, 0, 16]),
  WINDOW_UPDATE: () => frame(8, 0, 0, [0, 0, 0, 1]),
  SETTINGS: () => frame(4, 0, 0, [0, 3, 0, 0, 0, 100]),
  PING: () => frame(6, 0, 0, [0, 0, 0, 0, 0, 0, 0, 0]),
  'empty DATA': (index) => (index === 0 ? frame(1, END_HEADERS, 1, post) : frame(0, 0, 1, [])),
  CONTINUATION: (index) => (index === 0 ? frame(1, END_STREAM, 1, get) : frame(9, 0, 1, [0x82])),
  RST_STREAM: (index) =>
    Buffer.concat([
      frame(1, END_STREAM | END_HEADERS, 1 + 2 * index, get),
      frame(3, 0, 1 + 2 * index, [0, 0, 0, 8]),
    ]),
} satisfies Record<string, FrameSource>;
