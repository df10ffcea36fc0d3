import type { MaybePromise } from '../../../protocol/maybe-promise.ts';

/** Memory of the rows of all answers in flight, in bytes. */
export const ANSWERS_BYTES = 2 ** 26;
/** How long a reader may leave an answer waiting before the answer releases its memory, in ms. */
const STALL_MILLIS = 1_000;
/**
 * The same while another answer waits for memory. Not at once: a reader that is only slower than the
 * engine would have each of its batches produced many times.
 */
const NEEDED_STALL_MILLIS = 100;
/** Most pieces that are kept for later answers. */
const MOST_PIECES = 128;

/** Size of the pieces in which an answer is handed to its connection, in bytes. */
export const ANSWER_PIECE_BYTES = 2 ** 15;

/** An answer that can release its memory while its reader does not read. */
export interface Releasable {
  release(): void;
}

/** An answer whose reader does not read. */
interface Stall {
  readonly sinceMillis: number;
  readonly timer: NodeJS.Timeout;
}

interface Waiter {
  readonly bytes: number;
  readonly granted: () => void;
}

/** Memory that the rows of all answers in flight share. */
export class AnswerMemory {
  readonly #bytes: number;
  readonly #stallMillis: number;
  #held = 0;
  /** Answers whose reader does not read, the longest waiting first. */
  readonly #stalled = new Map<Releasable, Stall>();
  readonly #waiters: Waiter[] = [];
  readonly #pieces: Uint8Array[] = [];

  /**
   * @param bytes Capacity. An answer that runs alone may hold more.
   * @param stallMillis How long a stalled answer keeps its memory while no other answer needs it.
   */
  constructor(bytes: number, stallMillis = STALL_MILLIS) {
    this.#bytes = bytes;
    this.#stallMillis = stallMillis;
  }

  /** Bytes in use. */
  get held(): number {
    return this.#held;
  }

  /** Takes memory, after earlier waiters. Stalled answers release theirs soon if it is not enough. */
  take(bytes: number): MaybePromise<void> {
    if (this.#waiters.length === 0 && this.#fits(bytes)) {
      this.#held += bytes;
      return;
    }
    return new Promise((granted) => {
      this.#waiters.push({ bytes, granted });
      for (const [answer, { sinceMillis, timer }] of this.#stalled) {
        clearTimeout(timer);
        this.#releaseLater(answer, sinceMillis);
      }
    });
  }

  /** Takes memory without waiting; a negative number returns memory. */
  adjust(bytes: number): void {
    this.#held += bytes;
    if (bytes < 0) this.#grant();
  }

  /** Notes that the reader of an answer does not read. */
  stall(answer: Releasable): void {
    if (!this.#stalled.has(answer)) this.#releaseLater(answer, performance.now());
  }

  /** Notes that the reader of an answer reads again, or that the answer has ended. */
  resume(answer: Releasable): void {
    clearTimeout(this.#stalled.get(answer)?.timer);
    this.#stalled.delete(answer);
  }

  /** Memory for a piece. Its former contents are still in it. */
  piece(): Uint8Array {
    return this.#pieces.pop() ?? new Uint8Array(ANSWER_PIECE_BYTES);
  }

  /** Returns the memory of a piece that nothing uses any more. */
  givePiece({ buffer }: Uint8Array): void {
    if (buffer.byteLength !== ANSWER_PIECE_BYTES || this.#pieces.length >= MOST_PIECES) return;
    this.#pieces.push(new Uint8Array(buffer));
  }

  #fits(bytes: number): boolean {
    return this.#held === 0 || this.#held + bytes <= this.#bytes;
  }

  #releaseLater(answer: Releasable, sinceMillis: number): void {
    const needed = Math.min(NEEDED_STALL_MILLIS, this.#stallMillis);
    const patience = this.#waiters.length > 0 ? needed : this.#stallMillis;
    const left = Math.max(0, sinceMillis + patience - performance.now());
    const timer = setTimeout(() => this.#release(answer), left).unref();
    this.#stalled.set(answer, { sinceMillis, timer });
  }

  #release(answer: Releasable): void {
    this.resume(answer);
    answer.release();
  }

  #grant(): void {
    for (;;) {
      const [first] = this.#waiters;
      if (first === undefined || !this.#fits(first.bytes)) return;
      this.#waiters.shift();
      this.#held += first.bytes;
      first.granted();
    }
  }
}
