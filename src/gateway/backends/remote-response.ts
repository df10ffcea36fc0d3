import type { Readable } from 'node:stream';
import type { ByteStream } from '../../protocol/backend.ts';
import { ExchangeFault } from './remote-error.ts';
import type { HeaderFields } from './remote-headers.ts';

/** An answer of a backend whose head has arrived. Its body must be read or failed. */
export interface RemoteResponse {
  readonly status: number;
  readonly headers: HeaderFields;
  /** The whole body, if it has arrived. */
  readonly atHand: Buffer | undefined;
  /** Whether a reader waits for more of the body. */
  readonly waitsForBackend: boolean;
  /** Ends the connection; the reader gets this error. */
  fail(error: Error): void;
  /**
   * The whole body. Undefined if it is longer than the limit; the connection is then cut.
   * @throws ExchangeFault
   */
  whole(limit: number): Promise<Buffer | undefined>;
  /** The body as a stream with backpressure. Reading throws `ExchangeFault`. */
  stream(): ByteStream;
}

/** Bodies up to this size are collected before the answer is sent, in bytes. */
export const WHOLE_BYTES = 64 * 1024;

/** An answer that has arrived completely. */
export class WholeResponse implements RemoteResponse {
  readonly status: number;
  readonly headers: HeaderFields;
  readonly atHand: Buffer;
  readonly waitsForBackend = false;

  constructor(status: number, headers: HeaderFields, body: Buffer) {
    this.status = status;
    this.headers = headers;
    this.atHand = body;
  }

  /** Nothing is outstanding. */
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

/** An answer whose body is read as a stream. */
export class StreamedResponse implements RemoteResponse {
  readonly status: number;
  readonly headers: HeaderFields;
  readonly #body: Readable;
  readonly #ended: () => void;
  #waiting = false;
  readonly atHand = undefined;

  /** @param ended Called when the body has ended or failed. */
  constructor(status: number, headers: HeaderFields, body: Readable, ended: () => void) {
    this.status = status;
    this.headers = headers;
    this.#body = body;
    this.#ended = ended;
  }

  get waitsForBackend(): boolean {
    return this.#waiting;
  }

  fail(error: Error): void {
    this.#body.destroy(error);
  }

  whole(limit: number): Promise<Buffer | undefined> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    this.#waiting = true;
    return new Promise((resolve, reject) => {
      const body = this.#body;
      body.on('data', (chunk: Buffer) => {
        bytes += chunk.byteLength;
        if (bytes <= limit) {
          chunks.push(chunk);
          return;
        }
        this.#ended();
        resolve(undefined);
        body.destroy();
      });
      body.once('end', () => {
        this.#ended();
        resolve(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks));
      });
      body.once('error', (error) => {
        this.#ended();
        reject(faultOf(error));
      });
      body.once('close', () => {
        if (!body.readableEnded) reject(faultOf(undefined));
      });
    });
  }

  stream(): ByteStream {
    return { [Symbol.asyncIterator]: () => this.#pieces() };
  }

  async *#pieces(): AsyncGenerator<Uint8Array> {
    const chunks: AsyncIterator<Uint8Array> = this.#body[Symbol.asyncIterator]();
    try {
      for (let next = await this.#next(chunks); next !== undefined;) {
        yield next;
        next = await this.#next(chunks);
      }
    } catch (error) {
      throw faultOf(error);
    } finally {
      this.#ended();
      // Does nothing if the body is complete.
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
