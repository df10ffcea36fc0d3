import type { IncomingMessage } from 'node:http';
import type { ByteStream } from '../../protocol/backend.ts';
import { ExchangeFault } from './remote-error.ts';
import type { PlainAnswer } from './plain-answer.ts';
import type { Fields } from './remote-headers.ts';

/** An answer of a backend whose head has come. Its body must be taken, or given up. */
export interface RemoteResponse {
  readonly status: number;
  readonly headers: Fields;
  /** All of the body, where it has come. */
  readonly atHand: Buffer | undefined;
  /** Whether somebody waits for more of the body. */
  readonly waitsForBackend: boolean;
  /** Ends the connection; whoever reads gets this error. */
  fail(error: Error): void;
  /**
   * All of the body. Undefined when it is longer than the limit; it is then cut off.
   * @throws ExchangeFault
   */
  whole(limit: number): Promise<Buffer | undefined>;
  /** The body as it comes, and only as fast as it is taken. Reading throws `ExchangeFault`. */
  stream(): ByteStream;
}

/** An answer that has come to its end. */
export class WholeResponse implements RemoteResponse {
  readonly status: number;
  readonly headers: Fields;
  readonly atHand: Buffer;
  readonly waitsForBackend = false;

  constructor({ status, headers, body }: PlainAnswer) {
    this.status = status;
    this.headers = headers;
    this.atHand = body;
  }

  /** Nothing of it is still to come. */
  fail(): void {}

  async whole(limit: number): Promise<Buffer | undefined> {
    return this.atHand.byteLength > limit ? undefined : this.atHand;
  }

  stream(): ByteStream {
    const { atHand } = this;
    return {
      async *[Symbol.asyncIterator]() {
        if (atHand.byteLength > 0) yield atHand;
      },
    };
  }
}

/** An answer whose body Node's client reads. */
export class StreamedResponse implements RemoteResponse {
  readonly #message: IncomingMessage;
  readonly #ended: () => void;
  #waiting = false;
  readonly atHand = undefined;

  /** @param ended Called once, when the body has come to its end or failed. */
  constructor(message: IncomingMessage, ended: () => void) {
    this.#message = message;
    this.#ended = ended;
  }

  get status(): number {
    return this.#message.statusCode ?? 0;
  }

  get headers(): Fields {
    return this.#message.headers;
  }

  get waitsForBackend(): boolean {
    return this.#waiting;
  }

  fail(error: Error): void {
    this.#message.destroy(error);
  }

  whole(limit: number): Promise<Buffer | undefined> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    this.#waiting = true;
    return new Promise((resolve, reject) => {
      const message = this.#message;
      message.on('data', (chunk: Buffer) => {
        bytes += chunk.byteLength;
        if (bytes <= limit) {
          chunks.push(chunk);
          return;
        }
        this.#ended();
        resolve(undefined);
        message.destroy();
      });
      message.once('end', () => {
        this.#ended();
        resolve(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks));
      });
      message.once('error', (error) => {
        this.#ended();
        reject(faultOf(error));
      });
      message.once('close', () => {
        if (!message.readableEnded) reject(faultOf(undefined));
      });
    });
  }

  stream(): ByteStream {
    return { [Symbol.asyncIterator]: () => this.#pieces() };
  }

  async *#pieces(): AsyncGenerator<Uint8Array> {
    const chunks: AsyncIterator<Uint8Array> = this.#message[Symbol.asyncIterator]();
    try {
      for (let next = await this.#next(chunks); next !== undefined;) {
        yield next;
        next = await this.#next(chunks);
      }
    } catch (error) {
      throw faultOf(error);
    } finally {
      this.#ended();
      // Of one that is complete this does nothing.
      await chunks.return?.();
    }
  }

  async #next(chunks: AsyncIterator<Uint8Array>): Promise<Uint8Array | undefined> {
    this.#waiting = true;
    try {
      const next = await chunks.next();
      return next.done === true ? undefined : next.value;
    } finally {
      this.#waiting = false;
    }
  }
}

function faultOf(error: unknown): ExchangeFault {
  if (error instanceof ExchangeFault) return error;
  return new ExchangeFault('broken', 'broke off its answer', error);
}
