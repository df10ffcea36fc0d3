import type { FromLibrary, VersionQuestion, VersionReply } from '../wire/messages.ts';

/** Greatest size of a piece of a result. */
const PIECE_BYTES = 2 ** 20;

type Send = (message: FromLibrary, bytes?: Uint8Array) => void;

/** Pieces of less are sent together: each that is sent alone is a round trip. */
const SMALL_BYTES = 2 ** 16;

/** Ends the wait for the library's work: it was cancelled, or its time is spent. */
class TaskEnded extends Error {}

/**
 * A task in progress: its pieces are sent as they are requested, and its time counts while the
 * library works for it.
 */
export class RunningTask {
  readonly #id: number;
  readonly #send: Send;
  /** Time that is left, in ms. */
  #left: number;
  #spent = 0;
  #requested = 0;
  #wake: () => void = () => undefined;
  #end: (reason: Error) => void = () => undefined;
  readonly #ended: Promise<never>;
  #isEnded = false;
  /** Questions that are not answered, by their number. */
  readonly #calls = new Map<number, (reply: VersionReply) => void>();
  #nextCall = 0;
  /** Gets the rows of a change. */
  readonly #rows: Buffer;
  #received = 0;
  #haveRows: () => void = () => undefined;
  readonly #allRows = new Promise<void>((resolve) => {
    this.#haveRows = resolve;
  });
  /** The library's current work, which cannot be stopped. */
  #work: Promise<unknown> = Promise.resolve();

  /** @param rowBytes Bytes of the rows of a change. */
  constructor(id: number, millis: number | null, send: Send, rowBytes = 0) {
    this.#id = id;
    this.#send = send;
    this.#left = millis ?? Infinity;
    this.#rows = Buffer.allocUnsafeSlow(rowBytes);
    this.#ended = new Promise((_, reject) => {
      this.#end = reject;
    });
    this.#ended.catch(() => undefined);
  }

  /** Requests one more piece. */
  more(): void {
    this.#requested++;
    this.#wake();
  }

  /** Takes a piece of the rows of a change. */
  take(pieces: readonly Uint8Array[]): void {
    for (const piece of pieces) {
      this.#rows.set(piece, this.#received);
      this.#received += piece.byteLength;
    }
    if (this.#received === this.#rows.byteLength) this.#haveRows();
  }

  /** All rows of a change. */
  async rows(): Promise<Uint8Array> {
    await Promise.race([this.#allRows, this.#ended]);
    return this.#rows;
  }

  /** Asks the catalog of the gateway; refused once the task has ended. */
  async ask(question: VersionQuestion): Promise<VersionReply> {
    if (this.#isEnded) return { status: 503, value: { error: 'the request has ended', code: 17 } };
    const call = this.#nextCall++;
    return new Promise((resolve) => {
      this.#calls.set(call, resolve);
      this.#send({ kind: 'ask', id: this.#id, call, question });
    });
  }

  told(call: number, reply: VersionReply): void {
    this.#calls.get(call)?.(reply);
    this.#calls.delete(call);
  }

  cancel(): void {
    this.#isEnded = true;
    this.#end(new TaskEnded());
    this.#wake();
    for (const call of this.#calls.keys()) this.told(call, { status: 503, value: {} });
  }

  /** Waits for work of the library, as long as the task has time. */
  async until<Result>(work: Promise<Result>): Promise<Result> {
    this.#work = work;
    const since = performance.now();
    const timer =
      this.#left === Infinity ? undefined : setTimeout(() => this.#overTime(), this.#left);
    try {
      return await Promise.race([work, this.#ended]);
    } finally {
      clearTimeout(timer);
      const spent = performance.now() - since;
      this.#spent += spent;
      this.#left -= spent;
    }
  }

  /** Sends the pieces of a result, then its end once the library does nothing more for it. */
  async run(pieces: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      for await (const piece of gathered(pieces)) await this.#pass(piece);
    } catch (error) {
      this.#report(error);
    }
    await this.#work.catch(() => undefined);
    this.#send({ kind: 'end', id: this.#id, spent: this.#spent });
  }

  async #pass(piece: Uint8Array): Promise<void> {
    for (let start = 0; start < piece.byteLength; start += PIECE_BYTES) {
      while (this.#requested === 0 && !this.#isEnded) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
      if (this.#isEnded) throw new TaskEnded();
      this.#requested--;
      const part = piece.subarray(start, start + PIECE_BYTES);
      this.#send({ kind: 'piece', id: this.#id }, part);
    }
  }

  #overTime(): void {
    this.#fault('time', '');
    this.cancel();
  }

  #report(error: unknown): void {
    if (error instanceof TaskEnded) return;
    this.#fault(null, error instanceof Error ? error.message : String(error));
  }

  #fault(over: 'time' | null, text: string): void {
    this.#send({ kind: 'fault', id: this.#id, over, text });
  }
}

/** Joins small pieces that follow one another. */
async function* gathered(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let small: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    if (piece.byteLength < SMALL_BYTES) {
      small.push(piece);
      bytes += piece.byteLength;
    }
    if (bytes >= SMALL_BYTES || (bytes > 0 && piece.byteLength >= SMALL_BYTES)) {
      yield Buffer.concat(small, bytes);
      small = [];
      bytes = 0;
    }
    if (piece.byteLength >= SMALL_BYTES) yield piece;
  }
  if (bytes > 0) yield Buffer.concat(small, bytes);
}
