import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BodyAhead } from '../protocol/backend.ts';

/**
 * The body of a request, passed on as it comes and counted. Nothing is read
 * before somebody iterates, and a client that waits for `100 Continue`
 * (RFC 9110 section 10.1.1) is told to go on only then.
 */
export class RequestBody implements AsyncIterable<Uint8Array> {
  readonly #incoming: IncomingMessage;
  readonly #response: ServerResponse;
  #waiting: boolean;
  #bytes = 0n;
  #held: Promise<void> | undefined;

  constructor(incoming: IncomingMessage, response: ServerResponse, waiting: boolean) {
    this.#incoming = incoming;
    this.#response = response;
    this.#waiting = waiting;
  }

  /** Bytes read so far. */
  get bytes(): bigint {
    return this.#bytes;
  }

  /** Whether the client still waits to be told to send. */
  get waiting(): boolean {
    return this.#waiting;
  }

  /** From now on nobody gets to the end of the body before this resolves; when it rejects, reading fails with it. */
  holdEnd(until: Promise<void>): void {
    this.#held = until;
    // Told to whoever reads on, or asks; it may be nobody.
    until.catch(() => undefined);
  }

  /** Resolves when nothing holds the end back. */
  async released(): Promise<void> {
    await this.#held;
  }

  /** The same body for somebody who waits for what it is held back for before anything takes effect. */
  ahead(): BodyAhead {
    return {
      bytes: { [Symbol.asyncIterator]: () => this.#read() },
      recorded: () => this.released(),
    };
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    yield* this.#read();
    await this.#held;
  }

  async *#read(): AsyncGenerator<Uint8Array> {
    this.#invite();
    // Without this option, a reader that stops early would cut the connection before its answer.
    const chunks: AsyncIterable<Uint8Array> = this.#incoming.iterator({ destroyOnReturn: false });
    for await (const chunk of chunks) {
      this.#bytes += BigInt(chunk.byteLength);
      yield chunk;
    }
  }

  #invite(): void {
    if (!this.#waiting) return;
    this.#waiting = false;
    this.#response.writeContinue();
  }
}
