import type { ClientRequest, IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import type { RemoteOptions } from './backend-options.ts';
import { ExchangeFault } from './exchange-fault.ts';
import type { Watcher } from './forwarded-request.ts';
import { RemoteResponse } from './remote-response.ts';

type Timeouts = RemoteOptions['timeouts'];

/** Has a listener called once when the client goes away; the answer takes that back. */
export type WhenGone = (listener: () => void) => () => void;

/** A request on its way to a backend, as its exchange sees it. */
export interface SentRequest {
  watcher: Watcher | undefined;
  /** Whether it waits for the client to send more. */
  readonly waitsForClient: boolean;
  /** What reading its body failed with. */
  readonly fault: unknown;
  /** Sends a body that is at hand with the head. */
  sendWhole(outgoing: ClientRequest): void;
  /** Ends it, wherever it is. */
  abandon(): void;
}

/**
 * One request to a backend and its answer, with an end in any case: when no
 * connection is made in time, when nothing moves for too long although it is
 * the backend's turn, when all takes too long, when either side goes away.
 */
export class Exchange implements Watcher {
  /** Resolves with the head of the answer. Rejects with an `ExchangeFault`, or whatever reading the request's body failed with. */
  readonly head: Promise<RemoteResponse>;
  readonly #request: SentRequest;
  readonly #timeouts: Timeouts;
  readonly #stay: () => void;
  readonly #connecting: NodeJS.Timeout;
  readonly #total: NodeJS.Timeout | undefined;
  #settle: { resolve(response: RemoteResponse): void; reject(error: unknown): void } | undefined;
  #outgoing: ClientRequest | undefined;
  #response: RemoteResponse | undefined;
  #connected = false;

  constructor(request: SentRequest, timeouts: Timeouts, whenGone: WhenGone) {
    this.#request = request;
    this.#timeouts = timeouts;
    this.head = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    request.watcher = this;
    this.#connecting = setTimeout(() => this.#unconnected(), timeouts.connect);
    if (timeouts.total > 0) this.#total = setTimeout(() => this.#overdue(), timeouts.total);
    this.#stay = whenGone(() => this.#fail(new ExchangeFault('client', 'lost its client')));
  }

  begun(outgoing: ClientRequest): void {
    this.#outgoing = outgoing;
    outgoing.on('timeout', () => this.#idle());
    // Nobody asked for it, and without a listener Node says nothing of it at all.
    outgoing.on('upgrade', (_, socket) => {
      socket.destroy();
      this.#fail(new ExchangeFault('broken', 'switched to another protocol'));
    });
    this.#request.sendWhole(outgoing);
    const { socket } = outgoing;
    if (outgoing.reusedSocket || socket === null) {
      this.#connect();
      return;
    }
    const event = socket instanceof TLSSocket ? 'secureConnect' : 'connect';
    socket.once(event, () => this.#connect());
  }

  answered(message: IncomingMessage): void {
    this.#connect();
    this.#response = new RemoteResponse(message, () => this.#end());
    this.#settle?.resolve(this.#response);
    this.#settle = undefined;
  }

  /** What `http-proxy` says when the request, or its body, cannot be sent. */
  failed(error: Error): void {
    if (this.#settle === undefined) return;
    const isOwn = error === this.#request.fault;
    this.#fail(isOwn ? error : this.#faultOf(error));
  }

  #connect(): void {
    this.#connected = true;
    clearTimeout(this.#connecting);
  }

  #faultOf(error: Error): ExchangeFault {
    const code = 'code' in error && typeof error.code === 'string' ? ` (${error.code})` : '';
    if (!this.#connected) {
      return new ExchangeFault('unreached', `cannot be reached${code}`, error);
    }
    const stale = this.#outgoing?.reusedSocket === true;
    return new ExchangeFault(stale ? 'stale' : 'broken', `broke off${code}`, error);
  }

  #unconnected(): void {
    const { connect } = this.#timeouts;
    const busy = this.#outgoing === undefined;
    const message = busy ? 'had no connection free for' : 'could not be connected to in';
    this.#fail(new ExchangeFault(busy ? 'busy' : 'unreached', `${message} ${connect} ms`));
  }

  #overdue(): void {
    const { total } = this.#timeouts;
    this.#fail(new ExchangeFault('silent', `took longer than ${total} ms`));
  }

  /** Nothing moved on the connection. That may be the client's doing, who sends or takes slowly. */
  #idle(): void {
    const turn = this.#response?.waitsForBackend ?? !this.#request.waitsForClient;
    const { idle } = this.#timeouts;
    if (turn) this.#fail(new ExchangeFault('silent', `sent nothing for ${idle} ms`));
    else this.#outgoing?.socket?.setTimeout(idle);
  }

  #fail(error: Error): void {
    if (this.#response === undefined) {
      this.#settle?.reject(error);
      this.#settle = undefined;
      this.#end();
      this.#request.abandon();
    } else {
      this.#response.fail(error);
    }
  }

  /** The answer is over. What of the request is not sent yet is not wanted. */
  #end(): void {
    clearTimeout(this.#connecting);
    clearTimeout(this.#total);
    this.#stay();
    if (this.#outgoing?.writableEnded === false) this.#outgoing.destroy();
  }
}
