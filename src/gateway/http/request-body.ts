import { noteBody } from './control-traffic.ts';
import { isBrokenOff, type IncomingRequest, type OutgoingResponse } from './message.ts';
import type { BodyAhead, BodyBytes } from '../../protocol/backend.ts';

/**
 * The body of a request, passed on as it arrives and counted. Nothing is read before the
 * first iteration; `100 Continue` (RFC 9110 section 10.1.1) is sent only then.
 */
export class RequestBody implements BodyBytes {
  readonly #incoming: IncomingRequest;
  readonly #response: OutgoingResponse;
  #waiting: boolean;
  #bytes = 0;
  #held: Promise<void> | undefined;

  constructor(incoming: IncomingRequest, response: OutgoingResponse, waiting: boolean) {
    this.#incoming = incoming;
    this.#response = response;
    this.#waiting = waiting;
  }

  /** Bytes read so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether the client still waits for `100 Continue`. */
  get waiting(): boolean {
    return this.#waiting;
  }

  /** Holds back the end of the body until this resolves; if it rejects, reading fails with its error. */
  holdEnd(until: Promise<void>): void {
    this.#held = until;
    // A reader gets the error; there may be none.
    until.catch(() => undefined);
  }

  /** Resolves when nothing holds the end back; undefined where nothing ever did. */
  get released(): Promise<void> | undefined {
    return this.#held;
  }

  /**
   * The whole body if it has arrived and nothing holds its end back. This is cheaper than
   * reading a stream.
   */
  atHand(): Uint8Array | undefined {
    if (this.#held !== undefined || this.#waiting) return undefined;
    const whole = wholeOf(this.#incoming);
    if (whole !== undefined) this.#bytes += whole.byteLength;
    return whole;
  }

  /** The same body for a reader that itself waits for the attempt before any effect. */
  ahead(): BodyAhead {
    return {
      bytes: { [Symbol.asyncIterator]: () => this.#read() },
      recorded: async () => this.#held,
    };
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    yield* this.#read();
    await this.#held;
  }

  async *#read(): AsyncGenerator<Uint8Array> {
    this.#invite();
    const whole = wholeOf(this.#incoming);
    if (whole !== undefined) {
      this.#bytes += whole.byteLength;
      if (whole.byteLength > 0) yield whole;
      return;
    }
    // Without this option, a reader that stops early would cut the connection before its answer.
    const chunks: AsyncIterable<Uint8Array> = this.#incoming.iterator({ destroyOnReturn: false });
    for await (const chunk of chunks) {
      this.#bytes += chunk.byteLength;
      noteBody(this.#incoming, chunk.byteLength);
      yield chunk;
    }
    // A stream of HTTP/2 that its client broke off ends like any other.
    if (isBrokenOff(this.#incoming)) throw new Error('the client aborted its request');
  }

  #invite(): void {
    if (!this.#waiting) return;
    this.#waiting = false;
    this.#response.writeContinue();
  }
}

const NOTHING = Buffer.alloc(0);

/**
 * The whole body where it is there already, as a small one mostly is: it came
 * with its headers. To read it as a stream would cost more than the request.
 */
function wholeOf(incoming: IncomingRequest): Uint8Array | undefined {
  if ('stream' in incoming || !incoming.complete || incoming.destroyed) return undefined;
  if (incoming.readableEnded || incoming.readableFlowing === true) return undefined;
  const length = incoming.readableLength;
  const bytes: unknown = length === 0 ? NOTHING : incoming.read(length);
  if (!Buffer.isBuffer(bytes)) return undefined;
  // Reports the end, so that the connection can release the request.
  incoming.read();
  return bytes;
}
