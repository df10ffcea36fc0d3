import type { Socket } from 'node:net';
import { buildConnector, Client } from 'undici';
import type { RemoteOptions } from './backend-options.ts';
import { UNUSED_MILLIS } from './connection-agent.ts';
import type { ConnectionKeeper, ConnectionLimit } from './connection-limit.ts';

/** Connections are reused until this long before their backend closes them, in ms. */
const SPARE_MILLIS = 1_000;

/** A connection reads on while it holds less, in bytes: it keeps what it has read for as long as a client stalls. */
const READ_AHEAD = { highWaterMark: 2 ** 12 };

/** A client for one request at a time. It connects when a request needs it. */
export interface PooledClient {
  readonly client: Client;
  /** Its newest connection; undefined before the first. */
  socket: Socket | undefined;
  /** Whether its connection has carried a request before. */
  isUsed: boolean;
}

/** Clients of a backend; each has at most one connection. The client that was used last is used first. */
export class ClientPool implements ConnectionKeeper {
  readonly #options: RemoteOptions;
  readonly #limit: ConnectionLimit;
  /** Makes connections. Remembers TLS sessions. */
  readonly #connector: buildConnector.connector;
  readonly #free: PooledClient[] = [];
  #open = 0;
  #isClosed = false;

  constructor(options: RemoteOptions, limit: ConnectionLimit) {
    this.#options = options;
    this.#limit = limit;
    // The exchange limits the time of a connection attempt.
    this.#connector = buildConnector({ timeout: 0, rejectUnauthorized: true, ...READ_AHEAD });
    limit.add(this);
  }

  /** Number of open connections, busy or idle. */
  open(): number {
    return this.#open;
  }

  /** A client for one request. */
  take(): PooledClient {
    return this.#free.pop() ?? this.#made();
  }

  /** Takes a client back whose request has ended. */
  give(pooled: PooledClient): void {
    pooled.isUsed = true;
    this.#free.push(pooled);
    if (this.#isClosed) this.close();
    else if (this.#limit.isExceeded) pooled.socket?.destroy();
  }

  /** Closes an idle connection, if there is one. */
  dropOne(): boolean {
    const idle = this.#free.find(({ socket }) => socket?.destroyed === false);
    idle?.socket?.destroy();
    return idle !== undefined;
  }

  /** Closes the idle connections now, and each other one when its request has ended. */
  close(): void {
    this.#isClosed = true;
    for (const { client } of this.#free.splice(0)) void client.destroy();
  }

  #made(): PooledClient {
    const { url, timeouts } = this.#options;
    const pooled: PooledClient = {
      client: new Client(url.origin, {
        pipelining: 1,
        headersTimeout: timeouts.idle,
        bodyTimeout: timeouts.idle,
        keepAliveTimeout: UNUSED_MILLIS,
        keepAliveMaxTimeout: UNUSED_MILLIS,
        keepAliveTimeoutThreshold: SPARE_MILLIS,
        connect: (to, done) => this.#connect(pooled, to, done),
      }),
      socket: undefined,
      isUsed: false,
    };
    return pooled;
  }

  #connect(pooled: PooledClient, to: buildConnector.Options, done: buildConnector.Callback): void {
    this.#limit.makeRoom();
    // The declared result is void, but the connector returns the socket.
    const socket = this.#connector(to, done) as unknown as Socket;
    pooled.socket = socket;
    pooled.isUsed = false;
    this.#open += 1;
    socket.once('close', () => (this.#open -= 1));
  }
}
