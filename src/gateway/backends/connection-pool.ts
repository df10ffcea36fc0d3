import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectSecure } from 'node:tls';
import type { RemoteOptions } from './backend-options.ts';
import { Connection } from './connection.ts';
import { UNUSED_MILLIS } from './connection-agent.ts';
import type { ConnectionKeeper, ConnectionLimit } from './connection-limit.ts';

/** How often idle connections are checked, in milliseconds. */
const SWEEP_MILLIS = 1_000;

/** Where connections of a pool lead to. */
export interface PoolOptions extends Pick<RemoteOptions, 'url' | 'timeouts'> {
  /** Its host without the brackets of an address. */
  readonly hostname: string;
  readonly limit: ConnectionLimit;
}

/** Connections to a backend that are used again, the one that was used last first. */
export class ConnectionPool implements ConnectionKeeper {
  readonly #options: PoolOptions;
  readonly #free: Connection[] = [];
  #open = 0;
  #isClosed = false;
  #sweeping: NodeJS.Timeout | undefined;
  #session: Buffer | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
    options.limit.add(this);
  }

  /** Number of open connections, busy or idle. */
  open(): number {
    return this.#open;
  }

  /** A connection for one request: an idle one, or a new one. */
  take(): Connection {
    const now = performance.now();
    for (let last = this.#free.pop(); last !== undefined; last = this.#free.pop()) {
      if (last.isGood(now)) return last;
      last.destroy();
    }
    this.#options.limit.makeRoom();
    this.#open += 1;
    return new Connection(this.#connect(), this.#options.timeouts.idle, (gone) => {
      this.#open -= 1;
      const at = this.#free.indexOf(gone);
      if (at >= 0) this.#free.splice(at, 1);
    });
  }

  /**
   * Takes a connection back whose answer was read to its end.
   * @param keeps Milliseconds for which the backend keeps it.
   */
  give(connection: Connection, keeps: number): void {
    const now = performance.now();
    connection.rest(now, Math.min(keeps, UNUSED_MILLIS));
    if (this.#isClosed || !connection.isGood(now) || this.#options.limit.isExceeded) {
      connection.destroy();
      return;
    }
    this.#free.push(connection);
    this.#sweeping ??= setTimeout(() => this.#sweep(), SWEEP_MILLIS).unref();
  }

  /** Closes an idle connection, if there is one. */
  dropOne(): boolean {
    const oldest = this.#free.shift();
    oldest?.destroy();
    return oldest !== undefined;
  }

  /** Closes the connections that are not in use, and the others when they are no more. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#sweeping);
    this.#sweeping = undefined;
    while (this.dropOne());
  }

  #sweep(): void {
    this.#sweeping = undefined;
    const next = performance.now() + SWEEP_MILLIS;
    for (const each of this.#free.filter((one) => !one.isGood(next))) each.destroy();
    if (this.#free.length > 0) {
      this.#sweeping = setTimeout(() => this.#sweep(), SWEEP_MILLIS).unref();
    }
  }

  #connect(): Socket {
    const { url, hostname: host } = this.#options;
    const isSecure = url.protocol === 'https:';
    const port = url.port === '' ? (isSecure ? 443 : 80) : Number(url.port);
    if (!isSecure) return connectPlain({ host, port, noDelay: true });
    const socket = connectSecure({
      host,
      port,
      rejectUnauthorized: true,
      ALPNProtocols: ['http/1.1'],
      ...(isIP(host) === 0 && { servername: host }),
      ...(this.#session !== undefined && { session: this.#session }),
    });
    socket.setNoDelay(true);
    socket.on('session', (session) => {
      this.#session = session;
    });
    socket.on('error', () => {
      this.#session = undefined;
    });
    return socket;
  }
}
