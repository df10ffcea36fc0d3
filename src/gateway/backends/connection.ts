import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

/** The user of a connection, which receives its events. */
export interface ConnectionUser {
  /** It is made, where it was not yet. */
  connected(): void;
  came(bytes: Buffer): void;
  /** The backend sends nothing more. */
  ended(): void;
  /** It is gone; why, where that is known. */
  lost(error: Error | undefined): void;
  /** Nothing moved on it for as long as may be. */
  idle(): void;
}

/** A connection to a backend, which one request at a time has for itself. */
export class Connection {
  readonly #socket: Socket;
  readonly #idleMillis: number;
  readonly #closed: (connection: Connection) => void;
  #isClosed = false;
  #user: ConnectionUser | undefined;
  #connected = false;
  #used = false;
  /** Until when it may be used again; on the clock of `performance.now`. */
  #goodUntil = 0;

  /** @param closed Called once, when the connection is closed. */
  constructor(socket: Socket, idleMillis: number, closed: (connection: Connection) => void) {
    this.#socket = socket;
    this.#idleMillis = idleMillis;
    this.#closed = closed;
    let fault: Error | undefined;
    socket.setTimeout(idleMillis);
    socket.on(socket instanceof TLSSocket ? 'secureConnect' : 'connect', () => {
      this.#connected = true;
      this.#user?.connected();
    });
    socket.on('data', (bytes) => this.#came(bytes));
    socket.on('end', () => this.#user?.ended());
    socket.on('timeout', () => this.#idle());
    socket.on('error', (error) => {
      fault = error;
    });
    socket.on('close', () => {
      this.#tellClosed();
      this.#user?.lost(fault);
    });
  }

  get isConnected(): boolean {
    return this.#connected;
  }

  /** Whether a request was sent on it before that of its user. */
  get isUsed(): boolean {
    return this.#used;
  }

  /** Whether another request can be sent on it. */
  isGood(now: number): boolean {
    return now < this.#goodUntil && !this.#socket.destroyed && this.#socket.writable;
  }

  use(user: ConnectionUser): void {
    this.#user = user;
  }

  /** Sends a head with its body, as Latin-1. */
  send(text: string): void {
    this.#socket.write(text, 'latin1');
  }

  /** Detaches the user; the connection closes unless another request uses it within this time, in ms. */
  rest(now: number, millis: number): void {
    this.#user = undefined;
    this.#used = true;
    if (this.#socket.isPaused()) this.#socket.resume();
    this.#goodUntil = this.#socket.writableLength === 0 ? now + millis : 0;
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Waits as long again for something to move. */
  waitOn(): void {
    this.#socket.setTimeout(this.#idleMillis);
  }

  destroy(): void {
    this.#user = undefined;
    this.#close();
  }

  /** Bytes that arrive without a request belong to none: such a connection cannot be trusted. */
  #came(bytes: Buffer): void {
    if (this.#user === undefined) this.#close();
    else this.#user.came(bytes);
  }

  #idle(): void {
    if (this.#user === undefined) this.#close();
    else this.#user.idle();
  }

  #close(): void {
    this.#socket.destroy();
    this.#tellClosed();
  }

  #tellClosed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#closed(this);
  }
}
