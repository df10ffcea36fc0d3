import type { MemoryBudget } from './memory-budget.ts';

/** So long nobody else gets memory that was given up: work like it often follows, and caches fill slowly. */
const LINGER_MILLIS = 10_000;

/**
 * Memory that work holds while it runs, counted against a budget that others
 * share: they give way to it, and get it back when none has run for a while.
 */
export class MemoryReservation {
  readonly #budget: MemoryBudget;
  readonly #lingerMillis: number;
  /** What running work holds. */
  #held = 0;
  /** What is spent of the budget for it. */
  #spent = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param lingerMillis How long what was held is kept from others. */
  constructor(budget: MemoryBudget, lingerMillis = LINGER_MILLIS) {
    this.#budget = budget;
    this.#lingerMillis = lingerMillis;
  }

  /** Counts what some work holds from now on. What it gives is to be called once, when the work has ended. */
  hold(bytes: number): () => void {
    this.#held += bytes;
    const more = this.#held - this.#spent;
    if (more > 0) {
      this.#spent = this.#held;
      this.#budget.spend(more);
    }
    return () => {
      this.#held -= bytes;
      this.#refundLater();
    };
  }

  #refundLater(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#budget.refund(this.#spent - this.#held);
      this.#spent = this.#held;
    }, this.#lingerMillis).unref();
  }
}
