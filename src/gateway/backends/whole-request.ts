import { Readable } from 'node:stream';
import { errors, type Dispatcher } from 'undici';
import type { ClientPool, PooledClient } from './client-pool.ts';
import type { Seated } from './connection-limit.ts';
import type { Exchange, SentRequest } from './exchange.ts';
import { WHOLE_BYTES, WholeResponse } from './remote-response.ts';
import type { HeaderFields } from './remote-headers.ts';

/** A request whose body is at hand, or that has none. */
interface Whole {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | null;
}

/** Dependencies of a whole request. */
interface WholeOptions {
  readonly pool: ClientPool;
  /** Called when the backend sends `100 Continue` unasked, which `undici` takes for an error. */
  readonly onContinue: () => void;
}

/** The head of an answer. */
interface Head {
  readonly status: number;
  readonly headers: HeaderFields;
}

/**
 * A request that `undici` sends in one piece. A short answer is collected; any other one becomes
 * a stream, unless all of it has arrived with its head.
 */
export class WholeRequest implements SentRequest, Seated, Dispatcher.DispatchHandler {
  readonly #whole: Whole;
  readonly #options: WholeOptions;
  #exchange: Exchange | undefined;
  #pooled: PooledClient | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #isOnUsed = false;
  #isAbandoned = false;
  #isOver = false;
  #head: Head | undefined;
  #pieces: Buffer[] = [];
  #stream: Readable | undefined;
  #fault: TypeError | undefined;
  readonly waitsForClient = false;

  constructor(whole: Whole, options: WholeOptions) {
    this.#whole = whole;
    this.#options = options;
  }

  get isBegun(): boolean {
    return this.#pooled !== undefined;
  }

  /** Whether the backend may have closed the connection before the request came. */
  get isStale(): boolean {
    return this.#isOnUsed && this.#head === undefined;
  }

  /** The request is not valid HTTP, so nothing was sent. */
  get fault(): unknown {
    return this.#fault;
  }

  watchedBy(exchange: Exchange): void {
    this.#exchange = exchange;
  }

  seated(): void {
    const { method, path, body } = this.#whole;
    this.#pooled = this.#options.pool.take();
    this.#pooled.client.dispatch({ method, path, body, headers: fieldsOf(this.#whole) }, this);
  }

  /** `undici` limits the idle time itself. */
  waitOn(): void {}

  /** The whole request was handed over. */
  stop(): void {}

  abandon(): void {
    this.#isAbandoned = true;
    const error = new Error('the request was abandoned');
    if (this.#controller === undefined) this.#pooled?.socket?.destroy(error);
    else if (!this.#isOver) this.#controller.abort(error);
  }

  /** Called right before the request is written to its connection. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#isOnUsed = this.#pooled?.isUsed === true;
    if (this.#isAbandoned) this.abandon();
    else this.#exchange?.connected();
  }

  onResponseStart(_: unknown, status: number, headers: HeaderFields): void {
    // Informational responses are followed by the answer (RFC 9110 section 15.2).
    if (status < 200) return;
    this.#head = { status, headers };
    const isShort = Number(headers['content-length']) <= WHOLE_BYTES;
    // Bytes that arrived with the head are parsed before this runs.
    if (!isShort) queueMicrotask(() => this.#startStream());
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#stream === undefined) this.#pieces.push(chunk);
    else if (!this.#stream.push(chunk)) controller.pause();
  }

  onResponseEnd(): void {
    this.#isOver = true;
    // The connection is free once its parser has returned.
    queueMicrotask(() => {
      if (this.#pooled !== undefined) this.#options.pool.give(this.#pooled);
      this.#ended();
    });
  }

  onResponseError(_: unknown, error: Error): void {
    this.#isOver = true;
    if (error.message === UNASKED_CONTINUE) this.#options.onContinue();
    queueMicrotask(() => {
      // A client whose connection attempt failed can go on counting its request as running.
      void this.#pooled?.client.destroy();
      this.#failed(error);
    });
  }

  #ended(): void {
    if (this.#stream !== undefined) this.#stream.push(null);
    else if (this.#head !== undefined) {
      const [first, ...more] = this.#pieces;
      const body = first !== undefined && more.length === 0 ? first : Buffer.concat(this.#pieces);
      this.#exchange?.answeredWhole(new WholeResponse(this.#head.status, this.#head.headers, body));
    }
  }

  #failed(error: Error): void {
    if (isTimeout(error)) this.#exchange?.silent();
    else if (this.#stream !== undefined) this.#stream.destroy(error);
    else if (this.#head !== undefined) this.#exchange?.brokeOff();
    else if (error instanceof errors.InvalidArgumentError) {
      this.#fault = new TypeError(error.message, { cause: error });
      this.#exchange?.failed(this.#fault);
    } else this.#exchange?.failed(error instanceof errors.SocketError ? reset(error) : error);
  }

  #startStream(): void {
    if (this.#isOver || this.#head === undefined) return;
    const { status, headers } = this.#head;
    const stream = new Readable({
      // A piece that waits behind the one being sent would be held for as long as a client stalls.
      highWaterMark: 0,
      read: () => this.#controller?.resume(),
      destroy: (error, done) => {
        this.abandon();
        done(error);
      },
    });
    this.#stream = stream;
    for (const piece of this.#pieces) stream.push(piece);
    this.#exchange?.answered(status, headers, stream);
  }
}

/** The message of the error for an informational response 100, which has no code of its own. */
const UNASKED_CONTINUE = 'bad response';

function isTimeout(error: Error): boolean {
  return error instanceof errors.HeadersTimeoutError || error instanceof errors.BodyTimeoutError;
}

/** The backend closed the connection. */
function reset(cause: Error): Error {
  return Object.assign(new Error('the connection was closed', { cause }), { code: 'ECONNRESET' });
}

/** Names and values in turn. The content length is computed, not copied. */
function fieldsOf({ headers, body }: Whole): string[] {
  const fields: string[] = [];
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined && (body === null || name !== 'content-length')) {
      fields.push(name, value);
    }
  }
  return fields;
}
