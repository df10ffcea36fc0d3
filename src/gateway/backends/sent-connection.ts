import { Duplex } from 'node:stream';
import type { Connection, ConnectionUser } from './connection.ts';

/** Who is told how the rest of an answer is read. */
export interface Reading {
  idle(): void;
  /** Nothing more is read from the connection. */
  over(): void;
}

/**
 * A connection on which a request was sent already, as Node's own client takes one
 * to read the answer: what that client writes goes nowhere.
 */
export class SentConnection extends Duplex implements ConnectionUser {
  readonly #connection: Connection;
  readonly #reading: Reading;
  #isEnded = false;

  /** @param first What of the answer has come. */
  constructor(connection: Connection, first: Buffer, reading: Reading) {
    super();
    this.#connection = connection;
    this.#reading = reading;
    connection.use(this);
    this.came(first);
  }

  connected(): void {}

  came(bytes: Buffer): void {
    if (!this.push(bytes)) this.#connection.pause();
  }

  ended(): void {
    this.#isEnded = true;
    this.push(null);
  }

  /** What came before its end is still to be read. */
  lost(error: Error | undefined): void {
    if (error !== undefined || !this.#isEnded) this.destroy(error);
  }

  idle(): void {
    this.#reading.idle();
  }

  override _read(): void {
    this.#connection.resume();
  }

  override _write(_: unknown, __: unknown, done: () => void): void {
    done();
  }

  /** The client has all of the answer. */
  override _final(done: () => void): void {
    this.#reading.over();
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#reading.over();
    done(error);
  }
}
