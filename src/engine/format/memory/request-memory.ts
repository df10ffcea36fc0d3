import type { StreamMeter } from '../../../arrow/ipc/stream-reader.ts';
import type { RequestBudget } from '../../../protocol/budget.ts';
import { TryAgain } from '../../../protocol/errors.ts';
import type { MaybePromise } from '../../../protocol/maybe-promise.ts';
import { nextTurn } from '../../base/pace.ts';
import { ReadMemory } from './read-memory.ts';

/** Requests that hold less never wait, so that a large request does not delay small ones. */
const SMALL_BYTES = 2 ** 20;
/** Timeout of a request that waits for memory, in ms. */
export const MEMORY_WAIT_MILLIS = 10_000;
/** `Retry-After` of a request whose wait timed out, in seconds. */
const RETRY_SECONDS = '5';

interface Waiter {
  readonly bytes: number;
  readonly own: number;
  readonly granted: () => void;
}

/** Memory shared by the bodies and sorts of all requests of this process. */
export class RequestMemory {
  /** Capacity in bytes. */
  readonly bytes: number;
  /** Where the rows of bodies lie until they are stored. */
  readonly bodies = new ReadMemory();
  readonly #waitMillis: number;
  #held = 0;
  readonly #waiters: Waiter[] = [];

  /**
   * @param bytes Capacity; a single request may hold all of it.
   * @param waitMillis Timeout of a request that waits for memory, in ms.
   */
  constructor(bytes: number, waitMillis = MEMORY_WAIT_MILLIS) {
    this.bytes = bytes;
    this.#waitMillis = waitMillis;
  }

  /** Bytes in use. */
  get held(): number {
    return this.#held;
  }

  /** Takes memory without waiting. */
  force(bytes: number): void {
    this.#held += bytes;
  }

  /**
   * Takes memory, after earlier waiters; synchronously if enough is free.
   * @param own Bytes that the request already holds.
   * @throws TryAgain by the promise, after the timeout.
   */
  take(bytes: number, own = 0): MaybePromise<void> {
    if (this.#waiters.length > 0 || !this.#fits(bytes, own)) return this.#wait(bytes, own);
    this.#held += bytes;
  }

  /** Whether memory is free. A request that runs alone is bounded by its budget only. */
  #fits(bytes: number, own: number): boolean {
    return this.#held + bytes <= this.bytes || this.#held <= own;
  }

  /** Returns memory. */
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

/** Accounts for the memory and the budget that one request uses while its body is read. */
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
  hold(bytes: number): MaybePromise<void> {
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

  /** Returns all held memory. */
  close(): void {
    this.release(this.#held);
  }
}

/** Memory that one piece of work charges to its request's budget, returned together. */
export class Holding {
  readonly budget: RequestBudget;
  #held = 0;

  constructor(budget: RequestBudget) {
    this.budget = budget;
  }

  /** Charges bytes before they are allocated. @throws OverBudget `memory` */
  readonly charge = (bytes: number): void => {
    this.budget.charge(bytes);
    this.#held += bytes;
  };

  release(bytes: number): void {
    this.#held -= bytes;
    this.budget.release(bytes);
  }

  /** Returns all held memory. */
  close(): void {
    this.release(this.#held);
  }
}
