import { setImmediate } from 'node:timers/promises';

/** How long work may go on before others get a turn, in milliseconds. */
const TURN = 8;

/** Lets other requests be served while a long one runs. */
export class Pace {
  #since = performance.now();

  /** Gives way if this turn has lasted long enough. To be awaited after each batch. */
  async turn(): Promise<void> {
    if (performance.now() - this.#since < TURN) return;
    await setImmediate();
    this.#since = performance.now();
  }
}
