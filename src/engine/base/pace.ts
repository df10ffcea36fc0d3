import type { RequestBudget } from '../../protocol/budget.ts';
import { setImmediate } from 'node:timers/promises';

/** How long work may continue before others get a turn, in milliseconds. */
const TURN = 8;

let lastTurn: Promise<void> = Promise.resolve();

/**
 * Resolves in a turn of the event loop of its own. Long work of several requests, each of which
 * pauses, would otherwise add up in one turn.
 */
export function nextTurn(): Promise<void> {
  lastTurn = lastTurn.then(() => setImmediate());
  return lastTurn;
}

/** Lets other requests be served while a long one runs. */
export class Pace {
  #since = performance.now();
  readonly #budget: RequestBudget | undefined;

  /** @param budget Gets the duration of each turn. */
  constructor(budget?: RequestBudget) {
    this.#budget = budget;
  }

  /** Gives way if this turn has lasted long enough. To be awaited after each batch. */
  async turn(): Promise<void> {
    const lasted = performance.now() - this.#since;
    if (lasted < TURN) return;
    this.#budget?.add(lasted);
    this.#budget?.check();
    await nextTurn();
    this.#since = performance.now();
  }
}
