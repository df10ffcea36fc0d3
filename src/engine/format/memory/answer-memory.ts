import type { MaybePromise } from '../../../protocol/maybe-promise.ts';
import { AnswerPieces } from './answer-pieces.ts';

/** Memory of the rows of all answers in flight, in bytes: those of this thread, and those of others. */
export const ANSWERS_BYTES = 2 ** 26;

/** How long a reader may leave an answer waiting before the answer releases its memory, in ms. */
interface Patience {
  readonly idle: number;
  /**
   * The same while another answer waits for memory. Not at once: a reader that is only slower than the
   * engine would have each of its batches produced many times.
   */
  readonly needed: number;
}

const PATIENCE: Patience = { idle: 1_000, needed: 100 };
/** Longer for answers of threads, because their work has to be done again from its beginning. */
const THREAD_PATIENCE: Patience = { idle: 5_000, needed: 500 };

/** Owners that have answers at the same time, whatever these hold: one owner must not stop another. */
const OWNERS_AT_ONCE = 2;

/** An answer that can release its memory while its reader does not read. */
export interface Releasable {
  release(): void;
}

/** Who takes memory. */
export interface MemoryClaim {
  /** One owner at most for all answers if absent. */
  readonly owner?: string | undefined;
  /** Aborted when the memory is not needed any more. Called only if it has to be waited for. */
  readonly signal?: (() => AbortSignal) | undefined;
}

interface Waiter {
  readonly bytes: number;
  readonly owner: string;
  readonly granted: () => void;
}

interface AnswerMemoryOptions {
  readonly patience?: Patience;
  /** Most bytes of one owner; a single answer of it may hold more. */
  readonly ownerBytes?: number;
  readonly pieces?: AnswerPieces;
}

/** Memory that the rows of all answers in flight share. */
export class AnswerMemory {
  readonly pieces: AnswerPieces;
  readonly #bytes: number;
  readonly #ownerBytes: number;
  readonly #patience: Patience;
  #held = 0;
  readonly #ofOwner = new Map<string, number>();
  /** Answers whose reader does not read, and since when in ms; the longest waiting first. */
  readonly #stalled = new Map<Releasable, number>();
  /** Set while an answer may be stalled: a reader that is slower than the engine stalls often, but briefly. */
  #timer: NodeJS.Timeout | undefined;
  readonly #waiters: Waiter[] = [];

  /** @param bytes Capacity. An answer that runs alone may hold more. */
  constructor(
    bytes: number,
    {
      patience = PATIENCE,
      ownerBytes = Infinity,
      pieces = new AnswerPieces(),
    }: AnswerMemoryOptions = {},
  ) {
    this.#bytes = bytes;
    this.#patience = patience;
    this.#ownerBytes = ownerBytes;
    this.pieces = pieces;
  }

  /** For answers of threads. One owner gets half of it. */
  static forThreads(bytes = ANSWERS_BYTES): AnswerMemory {
    return new AnswerMemory(bytes, { patience: THREAD_PATIENCE, ownerBytes: bytes / 2 });
  }

  /** Bytes in use. */
  get held(): number {
    return this.#held;
  }

  /**
   * Takes memory, after earlier waiters. Stalled answers release theirs soon if it is not enough.
   * @throws the reason of the signal, by the promise
   */
  take(bytes: number, { owner = '', signal }: MemoryClaim = {}): MaybePromise<void> {
    if (this.#waiters.length > 0 || !this.#fits(bytes, owner))
      return this.#wait(bytes, owner, signal?.());
    this.#add(bytes, owner);
  }

  /** Takes memory without waiting; a negative number returns memory. */
  adjust(bytes: number, { owner = '' }: MemoryClaim = {}): void {
    this.#add(bytes, owner);
    if (bytes < 0) this.#grant();
  }

  /** Notes that the reader of an answer does not read. */
  stall(answer: Releasable): void {
    if (!this.#stalled.has(answer)) this.#stalled.set(answer, performance.now());
    if (this.#timer === undefined) this.#releaseLater();
  }

  /** Notes that the reader of an answer reads again, or that the answer has ended. */
  resume(answer: Releasable): void {
    this.#stalled.delete(answer);
  }

  #add(bytes: number, owner: string): void {
    this.#held += bytes;
    const held = (this.#ofOwner.get(owner) ?? 0) + bytes;
    if (held > 0) this.#ofOwner.set(owner, held);
    else this.#ofOwner.delete(owner);
  }

  #fits(bytes: number, owner: string): boolean {
    if (!this.#mayOwn(bytes, owner)) return false;
    if (this.#held + bytes <= this.#bytes) return true;
    return !this.#ofOwner.has(owner) && this.#ofOwner.size < this.#ownersAtOnce;
  }

  get #ownersAtOnce(): number {
    return this.#ownerBytes === Infinity ? 1 : OWNERS_AT_ONCE;
  }

  #mayOwn(bytes: number, owner: string): boolean {
    const held = this.#ofOwner.get(owner) ?? 0;
    return held === 0 || held + bytes <= this.#ownerBytes;
  }

  #wait(bytes: number, owner: string, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const leave = (): void => {
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
        reject(signal?.reason);
        this.#grant();
      };
      const granted = (): void => {
        signal?.removeEventListener('abort', leave);
        resolve();
      };
      const waiter = { bytes, owner, granted };
      signal?.addEventListener('abort', leave, { once: true });
      this.#waiters.push(waiter);
      this.#grant();
      if (this.#waiters.length === 1) this.#releaseLater();
    });
  }

  /** Waits for the patience with the answer that has been stalled for longest. */
  #releaseLater(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const sinceMillis of this.#stalled.values()) {
      const left = Math.max(0, sinceMillis + this.#patienceMillis - performance.now());
      this.#timer = setTimeout(() => this.#release(), Math.ceil(left)).unref();
      return;
    }
  }

  get #patienceMillis(): number {
    const { idle, needed } = this.#patience;
    return this.#waiters.length > 0 ? Math.min(needed, idle) : idle;
  }

  /** Has each answer that has been stalled for too long release its memory. */
  #release(): void {
    for (const [answer, sinceMillis] of this.#stalled) {
      if (sinceMillis + this.#patienceMillis > performance.now()) break;
      this.#stalled.delete(answer);
      answer.release();
    }
    this.#releaseLater();
  }

  /** Grants in the order of asking; an owner that holds as much as it may is passed over. */
  #grant(): void {
    for (let at = 0; at < this.#waiters.length;) {
      const { bytes, owner, granted } = this.#waiters[at]!;
      if (this.#fits(bytes, owner)) {
        this.#waiters.splice(at, 1);
        this.#add(bytes, owner);
        granted();
      } else if (this.#mayOwn(bytes, owner)) return;
      else at++;
    }
  }
}
