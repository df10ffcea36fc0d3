import { IncomingMessage, type ClientRequest } from 'node:http';
import { Socket } from 'node:net';
import type { Exchange, SentRequest } from './exchange.ts';

/** Stands where a proxied request would have its client's socket; it is never connected. */
const nowhere = new Socket();

/** A request for a backend. */
export interface Forwarded {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  /** Bytes at hand, or bytes as the client sends them. */
  readonly body: Uint8Array | AsyncIterable<Uint8Array> | null;
}

/**
 * A request in the form that `http-proxy` takes, rebuilt from the parsed request of the client.
 * More of its body is read only after the backend took the previous piece.
 */
export class ForwardedRequest extends IncomingMessage implements SentRequest {
  readonly #pieces: AsyncIterator<Uint8Array> | undefined;
  #whole: Uint8Array | null;
  #waiting = false;
  #fault: unknown;
  #exchange: Exchange | undefined;
  #outgoing: ClientRequest | undefined;

  constructor({ method, path, headers, body }: Forwarded) {
    super(nowhere);
    this.method = method;
    this.url = path;
    this.headers = headers;
    // No parser sets this, and `http-proxy` takes an end without it for an abort.
    this.complete = true;
    const streams = body !== null && !(body instanceof Uint8Array);
    this.#whole = streams ? null : body;
    this.#pieces = streams ? body[Symbol.asyncIterator]() : undefined;
  }

  watchedBy(exchange: Exchange): void {
    this.#exchange = exchange;
  }

  /** `http-proxy` has assigned a connection, or is opening one. */
  begun(outgoing: ClientRequest): void {
    this.#outgoing = outgoing;
    this.#exchange?.begun(outgoing);
    this.#sendWhole(outgoing);
  }

  /** The head of the answer arrived. */
  answered(message: IncomingMessage): void {
    this.#exchange?.answered(message.statusCode ?? 0, message.headers, message);
  }

  /** `http-proxy` could not send the request, or not read the answer. */
  failed(error: Error): void {
    this.#exchange?.failed(error);
  }

  /** The request is not valid HTTP. */
  refused(error: Error): void {
    this.#fault = error;
    this.failed(error);
  }

  get isBegun(): boolean {
    return this.#outgoing !== undefined;
  }

  get isStale(): boolean {
    return this.#outgoing?.reusedSocket === true;
  }

  /** Whether it waits for the client to send more. */
  get waitsForClient(): boolean {
    return this.#waiting;
  }

  /** The error of reading its body. */
  get fault(): unknown {
    return this.#fault;
  }

  waitOn(): void {
    const socket = this.#outgoing?.socket;
    socket?.setTimeout(socket.timeout ?? 0);
  }

  stop(): void {
    if (this.#outgoing?.writableEnded === false) this.#outgoing.destroy();
  }

  /** Makes `http-proxy` end the request. */
  abandon(): void {
    this.emit('aborted');
  }

  /** Sends a body that is at hand with the head, in one piece, instead of having `http-proxy` pass it on. */
  #sendWhole(outgoing: ClientRequest): void {
    const whole = this.#whole;
    this.#whole = null;
    // As Latin-1 a string stands for any bytes, those of the head included.
    if (whole !== null)
      outgoing.end(
        Buffer.from(whole.buffer, whole.byteOffset, whole.byteLength).toString('latin1'),
        'latin1',
      );
  }

  override _read(): void {
    if (this.#pieces !== undefined) {
      void this.#pull(this.#pieces);
      return;
    }
    if (this.#whole !== null) this.push(this.#whole);
    this.#whole = null;
    this.push(null);
  }

  /** The request has no socket of its own. */
  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    done(error);
  }

  async #pull(pieces: AsyncIterator<Uint8Array>): Promise<void> {
    this.#waiting = true;
    try {
      const next = await pieces.next();
      this.#waiting = false;
      this.push(next.done === true ? null : next.value);
      // Messages of Node do not ask for more by themselves, as other streams do.
      if (next.done !== true) this.read(0);
    } catch (error) {
      this.#waiting = false;
      this.#fault = error;
      // `http-proxy` listens and reports the error to the exchange.
      this.emit('error', error);
    }
  }
}
