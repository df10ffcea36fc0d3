import type { RequestBudget } from '../../protocol/budget.ts';
import { setImmediate } from 'node:timers/promises';

/** How long work may continue before others get a turn, in milliseconds. */
const TURN = 8;

/** Lets other requests be served while a long one runs. */
export class Pace {
  #since = performance.now();
  readonly #budget: RequestBudget | undefined;

  /** @param budget Is told how long each turn was. */
  constructor(budget?: RequestBudget) {
    this.#budget = budget;
  }

  /** Gives way if this turn has lasted long enough. To be awaited after each batch. */
  async turn(): Promise<void> {
    const lasted = performance.now() - this.#since;
    if (lasted < TURN) return;
    this.#budget?.add(lasted);
    this.#budget?.check();
    await setImmediate();
    this.#since = performance.now();
  }
}
