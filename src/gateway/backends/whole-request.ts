import { request, type IncomingMessage } from 'node:http';
import type { Connection, ConnectionUser } from './connection.ts';
import type { ConnectionPool } from './connection-pool.ts';
import type { Exchange, SentRequest } from './exchange.ts';
import { FORBIDDEN, keepsOf, plainAnswerIn } from './plain-answer.ts';
import type { Seated } from './connection-limit.ts';
import { SentConnection } from './sent-connection.ts';

/** What there is to send: a body that is at hand, or none. */
export interface Whole {
  readonly method: string;
  readonly path: string;
  readonly host: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | null;
}

/**
 * A request that is sent at once, and whose answer mostly comes as one piece: neither
 * needs a stream, which is most of what a client of HTTP does. An answer that is not as
 * plain as that is read by Node's own client, from its first byte.
 */
export class WholeRequest implements SentRequest, ConnectionUser, Seated {
  readonly #method: string;
  readonly #text: string;
  readonly #pool: ConnectionPool;
  #exchange: Exchange | undefined;
  #connection: Connection | undefined;
  /** What has come of the answer. */
  #pieces: Buffer[] | undefined;
  /** How many bytes of it are still to come. */
  #missing = 0;
  readonly waitsForClient = false;
  readonly fault: unknown = undefined;

  /** @throws TypeError for a target or a header that cannot be sent */
  constructor(whole: Whole, pool: ConnectionPool) {
    this.#method = whole.method;
    this.#text = textOf(whole);
    this.#pool = pool;
  }

  get isBegun(): boolean {
    return this.#connection !== undefined;
  }

  /** Whether it may have been lost for no other reason than that its connection was closed before it came. */
  get isStale(): boolean {
    return this.#connection?.isUsed === true && this.#pieces === undefined;
  }

  watchedBy(exchange: Exchange): void {
    this.#exchange = exchange;
  }

  seated(): void {
    const connection = this.#pool.take();
    this.#connection = connection;
    connection.use(this);
    if (connection.isConnected) this.connected();
  }

  /** Nothing is sent before it is known whose connection it is. */
  connected(): void {
    this.#exchange?.connected();
    this.#connection?.send(this.#text);
  }

  came(bytes: Buffer): void {
    if (this.#pieces === undefined) {
      this.#pieces = [bytes];
      this.#look(bytes);
    } else {
      this.#pieces.push(bytes);
      this.#missing -= bytes.byteLength;
      if (this.#missing <= 0) this.#look(Buffer.concat(this.#pieces));
    }
  }

  ended(): void {
    this.abandon();
    this.lost(undefined);
  }

  lost(error: Error | undefined): void {
    if (this.#pieces === undefined) this.#exchange?.failed(error ?? hungUp());
    else this.#exchange?.brokeOff();
  }

  idle(): void {
    this.#exchange?.idle();
  }

  /** All of it was handed to the connection. */
  stop(): void {}

  waitOn(): void {
    this.#connection?.waitOn();
  }

  abandon(): void {
    this.#connection?.destroy();
  }

  #look(bytes: Buffer): void {
    const answer = this.#method === 'HEAD' ? undefined : plainAnswerIn(bytes);
    if (answer === undefined) {
      this.#follow(bytes);
    } else if (typeof answer === 'number') {
      this.#missing = answer - bytes.byteLength;
    } else {
      this.#pool.give(this.#connection!, answer.keeps);
      this.#exchange?.answeredWhole(answer);
    }
  }

  /** Has Node's client read the answer. */
  #follow(bytes: Buffer): void {
    const connection = this.#connection!;
    let message: IncomingMessage | undefined;
    let isOver = false;
    const over = (): void => {
      if (isOver) return;
      isOver = true;
      const isRead = message?.complete === true && message.httpVersion === '1.1';
      if (isRead && socket.readableLength === 0)
        this.#pool.give(connection, keepsOf(message!.headers));
      else connection.destroy();
    };
    const socket = new SentConnection(connection, bytes, { idle: () => this.idle(), over });
    const outgoing = request({ createConnection: () => socket, method: this.#method });
    outgoing.on('response', (response) => {
      message = response;
    });
    this.#exchange?.follow(outgoing);
    outgoing.end();
  }
}

function hungUp(): Error {
  return Object.assign(new Error('the connection was closed'), { code: 'ECONNRESET' });
}

/** What a target cannot hold. */
const NO_TARGET = /[^\x21-\x7e\x80-\xff]/;

/**
 * All of a request; as Latin-1 a string stands for any bytes, so head and body are sent as one.
 * Its length is that of its body, whatever was said: what follows on the connection begins there.
 */
function textOf({ method, path, host, headers, body }: Whole): string {
  if (NO_TARGET.test(path))
    throw new TypeError('the target of the request holds what none may hold');
  let text = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`;
  for (const name in headers) {
    const value = headers[name]!;
    if (FORBIDDEN.test(value)) throw new TypeError(`the header ${name} holds what none may hold`);
    if (body === null || name !== 'content-length') text += `${name}: ${value}\r\n`;
  }
  if (body === null) return `${text}\r\n`;
  const { buffer, byteOffset, byteLength } = body;
  const content = Buffer.from(buffer, byteOffset, byteLength).toString('latin1');
  return `${text}content-length: ${byteLength}\r\n\r\n${content}`;
}
