import { isBrokenOff, type Incoming, type Outgoing } from './message.ts';
import type { BodyAhead } from '../protocol/backend.ts';

/**
 * The body of a request, passed on as it comes and counted. Nothing is read
 * before somebody iterates, and a client that waits for `100 Continue`
 * (RFC 9110 section 10.1.1) is told to go on only then.
 */
export class RequestBody implements AsyncIterable<Uint8Array> {
  readonly #incoming: Incoming;
  readonly #response: Outgoing;
  #waiting: boolean;
  #bytes = 0n;
  #held: Promise<void> | undefined;

  constructor(incoming: Incoming, response: Outgoing, waiting: boolean) {
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
    const whole = wholeOf(this.#incoming);
    if (whole !== undefined) {
      this.#bytes += BigInt(whole.byteLength);
      if (whole.byteLength > 0) yield whole;
      return;
    }
    // Without this option, a reader that stops early would cut the connection before its answer.
    const chunks: AsyncIterable<Uint8Array> = this.#incoming.iterator({ destroyOnReturn: false });
    for await (const chunk of chunks) {
      this.#bytes += BigInt(chunk.byteLength);
      yield chunk;
    }
    // A stream of HTTP/2 that its client broke off ends like any other.
    if (isBrokenOff(this.#incoming)) throw new Error('the client broke its request off');
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
function wholeOf(incoming: Incoming): Uint8Array | undefined {
  if ('stream' in incoming || !incoming.complete || incoming.destroyed) return undefined;
  if (incoming.readableEnded || incoming.readableFlowing === true) return undefined;
  const length = incoming.readableLength;
  const bytes: unknown = length === 0 ? NOTHING : incoming.read(length);
  if (!Buffer.isBuffer(bytes)) return undefined;
  // Says that it ended, so that the connection can forget it.
  incoming.read();
  return bytes;
}
