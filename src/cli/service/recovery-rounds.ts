import { setTimeout as sleep } from 'node:timers/promises';

/** Pause between two rounds, in ms. */
const PAUSE_MILLIS = 10_000;

/**
 * Repeats work that a start does for processes that were killed: others are killed later, and what
 * failed once is tried again.
 */
export class RecoveryRounds {
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;

  /**
   * @param work Ends soon after its signal is aborted.
   * @param failed Called when a round failed and the one before did not.
   */
  constructor(
    work: (signal: AbortSignal) => Promise<void>,
    failed: (error: unknown) => void,
    pauseMillis = PAUSE_MILLIS,
  ) {
    this.#running = this.#run(work, failed, pauseMillis);
  }

  /** Resolves after the round in progress. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(
    work: (signal: AbortSignal) => Promise<void>,
    failed: (error: unknown) => void,
    pauseMillis: number,
  ): Promise<void> {
    const { signal } = this.#stopping;
    for (let fails = false; ;) {
      await sleep(pauseMillis, undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return;
      try {
        await work(signal);
        fails = false;
      } catch (error) {
        if (!fails && !signal.aborted) failed(error);
        fails = true;
      }
    }
  }
}
