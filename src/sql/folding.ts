import { maxFoldedWork } from './limits.ts';
import type { EvaluationBudget } from './meter.ts';
import { metered } from './meter.ts';

/** Thrown inside of this file only: computing a constant would keep others waiting. */
class FoldLimit extends Error {}

/** Work that is left for the constants of one expression. */
class FoldBudget implements EvaluationBudget {
  #left = maxFoldedWork;

  run<Result>(work: () => Result): Result {
    return work();
  }

  charge(bytes: number): void {
    if (bytes > this.#left) this.#end();
  }

  release(): void {
    return undefined;
  }

  work(bytes: number): void {
    this.#left -= bytes;
    if (this.#left < 0) this.#end();
  }

  /** Nothing more is folded: what was tried is not undone. */
  #end(): never {
    this.#left = 0;
    throw new FoldLimit();
  }
}

/** That of the expression that is being bound: binding waits for nothing, so there is one at a time. */
let open: FoldBudget | undefined;

/** Binds an expression; what is the same for all rows may take so much work, and is evaluated with the rows otherwise. */
export function folding<Result>(bind: () => Result): Result {
  if (open !== undefined) return bind();
  open = new FoldBudget();
  try {
    return bind();
  } finally {
    open = undefined;
  }
}

/** The value of a constant; undefined when it takes more work than is left. */
export function folded<Value>(compute: () => Value): Value | undefined {
  try {
    return metered(open ?? new FoldBudget(), compute);
  } catch (error) {
    if (error instanceof FoldLimit) return undefined;
    throw error;
  }
}
