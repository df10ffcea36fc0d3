import type { EvaluationBudget } from '../../src/sql/values/meter.ts';

/** What a counted budget is over. */
export class OverCount extends Error {}

/** A budget that counts work instead of time, so that a test of it does not depend on the machine. */
export class CountedBudget implements EvaluationBudget {
  worked = 0;
  held = 0;
  /** The most bytes that were held at once. */
  peak = 0;
  readonly #work: number;
  readonly #memory: number;

  constructor(limits: { readonly work: number; readonly memory: number }) {
    this.#work = limits.work;
    this.#memory = limits.memory;
  }

  run<Result>(work: () => Result): Result {
    return work();
  }

  charge(bytes: number): void {
    if (this.held + bytes > this.#memory) throw new OverCount('over budget: memory');
    this.held += bytes;
    this.peak = Math.max(this.peak, this.held);
  }

  release(bytes: number): void {
    this.held -= bytes;
  }

  work(bytes: number): void {
    this.worked += bytes;
    if (this.worked > this.#work) throw new OverCount('over budget: work');
  }
}
