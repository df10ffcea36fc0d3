import type { Processes, View } from './presence.ts';
import type { Running } from './running.ts';

/** Times of files are coarser than those of the clock. */
const COARSE_MILLIS = 100;
/** Maximum delay between the time in a record and its commit, in ms. */
const LATE_MILLIS = 60_000;

/** When what is in progress has begun, in all processes of a data folder. */
export class Horizon {
  readonly running: Running;
  readonly #processes: Processes | undefined;

  /** @param processes The other processes; absent where there can be none. */
  constructor(running: Running, processes?: Processes) {
    this.running = running;
    this.#processes = processes;
  }

  /** Whether no other process uses the data folder now. */
  async isAlone(): Promise<boolean> {
    return ((await this.#processes?.others()) ?? []).length === 0;
  }

  /** The state of all processes after this call. */
  async look(): Promise<Outlook> {
    await this.#processes?.refreshed();
    const own = { seenMillis: Date.now(), oldestMillis: this.running.oldest() ?? Infinity };
    return new Outlook([own, ...((await this.#processes?.others()) ?? [])]);
  }
}

/** State of all processes at one moment. */
export class Outlook {
  readonly #seen: number;
  readonly #oldest: number;

  constructor(views: readonly View[]) {
    this.#seen = Math.min(...views.map(({ seenMillis }) => seenMillis));
    this.#oldest = Math.min(...views.map(({ oldestMillis }) => oldestMillis));
  }

  /**
   * Whether nothing that is in progress can know of something that was given up at
   * a time, in milliseconds. The record of it must have been found before the look.
   */
  isForgotten(sinceMillis: number): boolean {
    return sinceMillis < this.#seen && sinceMillis + LATE_MILLIS < this.#oldest;
  }

  /** Whether nothing that is in progress can have written a file of this age, in milliseconds. */
  isLeft(writtenMillis: number): boolean {
    return writtenMillis + COARSE_MILLIS < Math.min(this.#seen, this.#oldest);
  }
}
