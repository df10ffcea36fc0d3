import type { StreamMeter } from '../../../arrow/ipc/stream-reader.ts';
import type { RequestBudget } from '../../../protocol/budget.ts';
import { TryAgain } from '../../../protocol/errors.ts';
import { nextTurn } from '../../base/pace.ts';

/** A request that holds less never waits, so that a large one does not keep small ones from being answered. */
const SMALL_BYTES = 2 ** 20;
/** How long a request waits for memory that others hold, in ms. */
const WAIT_MILLIS = 10_000;
/** After how many seconds a request that waited in vain should be sent again. */
const RETRY_SECONDS = '5';

interface Waiter {
  readonly bytes: number;
  readonly own: number;
  readonly granted: () => void;
}

/** Memory that all requests of this process share, for bodies and sorts. */
export class RequestMemory {
  /** How much there is. */
  readonly bytes: number;
  readonly #waitMillis: number;
  #held = 0;
  readonly #waiters: Waiter[] = [];

  /**
   * @param bytes How much there is; a request may hold all of it.
   * @param waitMillis How long a request waits for it.
   */
  constructor(bytes: number, waitMillis = WAIT_MILLIS) {
    this.bytes = bytes;
    this.#waitMillis = waitMillis;
  }

  /** Bytes that are held now. */
  get held(): number {
    return this.#held;
  }

  /** Takes memory that a request must have at once. */
  force(bytes: number): void {
    this.#held += bytes;
  }

  /**
   * Takes memory, after those that wait for some; at once where there is enough.
   * @param own What the request holds already.
   * @throws TryAgain, by the promise, when there is none for a while.
   */
  take(bytes: number, own = 0): void | Promise<void> {
    if (this.#waiters.length > 0 || !this.#fits(bytes, own)) return this.#wait(bytes, own);
    this.#held += bytes;
  }

  /** Whether there is so much left. A request that nobody is beside has its budget alone as its bound. */
  #fits(bytes: number, own: number): boolean {
    return this.#held + bytes <= this.bytes || this.#held <= own;
  }

  /** Gives memory back. */
  give(bytes: number): void {
    this.#held -= bytes;
    for (;;) {
      const [first] = this.#waiters;
      if (first === undefined || !this.#fits(first.bytes, first.own)) return;
      this.#waiters.shift();
      this.#held += first.bytes;
      first.granted();
    }
  }

  #wait(bytes: number, own: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
        reject(
          new TryAgain(
            'other requests hold all memory that requests may hold (budget.memory): try again',
            RETRY_SECONDS,
          ),
        );
      }, this.#waitMillis);
      const granted = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const waiter = { bytes, own, granted };
      this.#waiters.push(waiter);
    });
  }
}

/** What one request holds of the memory, and uses of its budget, while its body is read. */
export class BodyMeter implements StreamMeter {
  readonly #memory: RequestMemory;
  readonly #budget: RequestBudget;
  #held = 0;

  constructor(memory: RequestMemory, budget: RequestBudget) {
    this.#memory = memory;
    this.#budget = budget;
  }

  plan(bytes: number): void {
    this.#budget.charge(bytes);
    this.#budget.release(bytes);
  }

  /** @throws OverBudget `memory`; TryAgain, by the promise */
  hold(bytes: number): void | Promise<void> {
    this.#budget.charge(bytes);
    if (this.#held + bytes <= SMALL_BYTES) {
      this.#memory.force(bytes);
      this.#held += bytes;
      return;
    }
    const taken = this.#memory.take(bytes, this.#held);
    if (taken === undefined) {
      this.#held += bytes;
      return;
    }
    return taken.then(
      () => {
        this.#held += bytes;
      },
      (error: unknown) => {
        this.#budget.release(bytes);
        throw error;
      },
    );
  }

  release(bytes: number): void {
    this.#held -= bytes;
    this.#budget.release(bytes);
    this.#memory.give(bytes);
  }

  decompress(bytes: number): void {
    this.#budget.decompress(bytes);
  }

  addRows(rows: number): void {
    this.#budget.addRows(rows);
  }

  turn(): Promise<void> {
    return nextTurn();
  }

  /** Gives back all that is held. */
  close(): void {
    this.release(this.#held);
  }
}

/** What one piece of work holds of its request's budget, to be given back together. */
export class Holding {
  readonly budget: RequestBudget;
  #held = 0;

  constructor(budget: RequestBudget) {
    this.budget = budget;
  }

  /** Counts bytes that are about to be held. @throws OverBudget `memory` */
  readonly charge = (bytes: number): void => {
    this.budget.charge(bytes);
    this.#held += bytes;
  };

  release(bytes: number): void {
    this.#held -= bytes;
    this.budget.release(bytes);
  }

  /** Gives back all that is held. */
  close(): void {
    this.release(this.#held);
  }
}
