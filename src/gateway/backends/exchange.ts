import type { ClientRequest } from 'node:http';
import type { Readable } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { errors } from 'undici';
import type { RemoteOptions } from './backend-options.ts';
import { ExchangeFault } from './remote-error.ts';
import type { HeaderFields } from './remote-headers.ts';
import { StreamedResponse, type RemoteResponse, type WholeResponse } from './remote-response.ts';

type Timeouts = RemoteOptions['timeouts'];

/** Registers a listener that is called once when the client disconnects; calling the result removes it. */
export type OnDisconnect = (listener: () => void) => () => void;

/** A request on its way to a backend, as its exchange sees it. */
export interface SentRequest {
  /** Whether a connection is assigned or being opened. */
  readonly isBegun: boolean;
  /** Whether its connection was used before and has received nothing since. */
  readonly isStale: boolean;
  /** Whether it waits for the client to send more. */
  readonly waitsForClient: boolean;
  /** The error of reading its body. */
  readonly fault: unknown;
  /** Tells the exchange how it fares. */
  watchedBy(exchange: Exchange): void;
  /** Waits as long again for something to move. */
  waitOn(): void;
  /** Drops the part of the request that was not sent yet. */
  stop(): void;
  /** Ends it, wherever it is. */
  abandon(): void;
}

/** Dependencies of an exchange besides its request. */
interface BackendExchangeOptions {
  readonly timeouts: Timeouts;
  readonly onDisconnect: OnDisconnect;
  /** Called once, when the exchange has ended. */
  readonly over: () => void;
}

/**
 * One request to a backend and its answer, with an end in any case: when no
 * connection is made in time, when nothing moves for too long although it is
 * the backend's turn, when all takes too long, when either side disconnects.
 */
export class Exchange {
  /** Resolves with the head of the answer. Rejects with an `ExchangeFault` or the error of the request's body. */
  readonly head: Promise<RemoteResponse>;
  readonly #request: SentRequest;
  readonly #timeouts: Timeouts;
  readonly #stay: () => void;
  readonly #over: () => void;
  readonly #total: NodeJS.Timeout | undefined;
  #resolve: ((response: RemoteResponse) => void) | undefined;
  #reject: ((error: unknown) => void) | undefined;
  #connecting: NodeJS.Timeout | undefined;
  #response: RemoteResponse | undefined;
  #isConnected = false;
  #isOver = false;

  constructor(request: SentRequest, { timeouts, onDisconnect, over }: BackendExchangeOptions) {
    this.#request = request;
    this.#timeouts = timeouts;
    this.#over = over;
    this.head = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    request.watchedBy(this);
    if (timeouts.total > 0) this.#total = setTimeout(() => this.#overdue(), timeouts.total);
    this.#stay = onDisconnect(() => this.#fail(new ExchangeFault('client', 'lost its client')));
  }

  /** From now on it waits for its connection, unless it has it already. */
  waitForConnection(): void {
    if (this.#isConnected || this.#isOver) return;
    this.#connecting = setTimeout(() => this.#unconnected(), this.#timeouts.connect);
  }

  connected(): void {
    this.#isConnected = true;
    clearTimeout(this.#connecting);
  }

  /** Node's client has a connection for the request, or is opening one. */
  begun(outgoing: ClientRequest): void {
    outgoing.on('timeout', () => this.idle());
    this.#refuseUpgrade(outgoing);
    const { socket } = outgoing;
    if (outgoing.reusedSocket || socket === null) {
      this.connected();
      return;
    }
    const event = socket instanceof TLSSocket ? 'secureConnect' : 'connect';
    socket.once(event, () => this.connected());
  }

  /** The head of the answer arrived; its body is read as a stream. */
  answered(status: number, headers: HeaderFields, body: Readable): void {
    this.connected();
    this.#settled(new StreamedResponse(status, headers, body, () => this.#end()));
  }

  /** All of the answer arrived. */
  answeredWhole(response: WholeResponse): void {
    this.#end();
    this.#settled(response);
  }

  /** The request, or its body, could not be sent, or its answer not be read. */
  failed(error: Error): void {
    if (this.#resolve === undefined) return;
    const isOwn = error === this.#request.fault;
    this.#fail(isOwn ? error : this.#faultOf(error));
  }

  /** A part of the answer came, and no more will. */
  brokeOff(): void {
    this.#fail(new ExchangeFault('broken', 'broke off its answer'));
  }

  /** The connection was idle. The cause may be a client that sends or reads slowly. */
  idle(): void {
    const turn = this.#response?.waitsForBackend ?? !this.#request.waitsForClient;
    if (turn) this.silent();
    else this.#request.waitOn();
  }

  /** The backend was expected to send, and did not within the idle timeout. */
  silent(): void {
    this.#fail(new ExchangeFault('silent', `sent nothing for ${this.#timeouts.idle} ms`));
  }

  #settled(response: RemoteResponse): void {
    this.#response = response;
    this.#resolve?.(response);
    this.#resolve = undefined;
  }

  /** An unexpected upgrade; without a listener Node does not report it. */
  #refuseUpgrade(outgoing: ClientRequest): void {
    outgoing.on('upgrade', (_, socket) => {
      socket.destroy();
      this.#fail(new ExchangeFault('broken', 'switched to another protocol'));
    });
  }

  #faultOf(error: Error): ExchangeFault {
    const why = reasonOf(error);
    if (!this.#isConnected) {
      return new ExchangeFault('unreached', `cannot be reached${why}`, error);
    }
    return new ExchangeFault(this.#request.isStale ? 'stale' : 'broken', `broke off${why}`, error);
  }

  #unconnected(): void {
    const { connect } = this.#timeouts;
    const busy = !this.#request.isBegun;
    const message = busy ? 'had no connection free for' : 'did not accept a connection within';
    this.#fail(new ExchangeFault(busy ? 'busy' : 'unreached', `${message} ${connect} ms`));
  }

  #overdue(): void {
    const { total } = this.#timeouts;
    this.#fail(new ExchangeFault('silent', `took longer than ${total} ms`));
  }

  #fail(error: Error): void {
    if (this.#isOver) return;
    if (this.#response === undefined) {
      this.#resolve = undefined;
      this.#reject?.(error);
      this.#request.abandon();
    } else {
      this.#response.fail(error);
    }
    this.#end();
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#connecting);
    clearTimeout(this.#total);
    this.#stay();
    this.#request.stop();
    this.#over();
  }
}

/** The code of an error in brackets, if it says something to an operator. */
function reasonOf(error: Error): string {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (error instanceof errors.HTTPParserError || code.startsWith('HPE_')) {
    return ' (its answer is not valid HTTP)';
  }
  return code === '' ? '' : ` (${code})`;
}
