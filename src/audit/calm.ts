import { setTimeout as sleep } from 'node:timers/promises';

/** A loop that has work for a larger part of the time leaves no processor to spare. */
const BUSY = 0.7;
const LOOK_MILLIS = 1_000;
/** Nothing waits longer for a calm moment. */
const MOST_MILLIS = 10 * 60_000;

/**
 * Waits for moments at which this process has time to spare. Work on a thread gives way to
 * requests, but what collects its garbage does not.
 */
export class Calm {
  readonly #utilization: () => number;
  readonly #lookMillis: number;
  readonly #mostMillis: number;

  /** @param utilization For what part of the time the loop had work since it was last asked. */
  constructor(
    utilization: () => number = loopUtilization(),
    lookMillis = LOOK_MILLIS,
    mostMillis = MOST_MILLIS,
  ) {
    this.#utilization = utilization;
    this.#lookMillis = lookMillis;
    this.#mostMillis = mostMillis;
  }

  /** Resolves at once when the loop has not been busy since the last look, and when it was told to wait for nothing. */
  async come(signal: AbortSignal): Promise<void> {
    const end = performance.now() + this.#mostMillis;
    while (!signal.aborted && this.#utilization() > BUSY && performance.now() < end) {
      await sleep(this.#lookMillis, undefined, { signal }).catch(() => undefined);
    }
  }
}

function loopUtilization(): () => number {
  let looked = performance.eventLoopUtilization();
  return () => {
    const before = looked;
    looked = performance.eventLoopUtilization();
    return performance.eventLoopUtilization(looked, before).utilization;
  };
}
