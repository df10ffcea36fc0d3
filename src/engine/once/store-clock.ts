import type { Store } from '../../store/store.ts';

/** Interval of measurements, in ms. */
const INTERVAL_MILLIS = 10_000;
/** Largest difference of the clocks that is not reported, in ms. */
const TOLERANCE_MILLIS = 1000;

export interface StoreClockOptions {
  readonly store: Pick<Store, 'time'>;
  /** The clock of the machine: milliseconds since 1970. */
  readonly machine: () => number;
  /** Called with a sentence when the clocks begin to differ by over a second, and with undefined when they agree again. */
  readonly onSkew?: ((fault: string | undefined) => void) | undefined;
}

/**
 * The clock of the store, by which all processes of a catalog agree on times; the clock of the
 * machine if the store has none. Never runs back. The store is asked at intervals, not per
 * request; in between a monotonic clock continues.
 */
export class StoreClock {
  readonly #options: StoreClockOptions;
  /** The store's clock minus the monotonic one, in ms; undefined if it was never measured. */
  #ahead: number | undefined;
  #last = -Infinity;
  #skewMillis = 0;
  #skewed = false;
  #timer: NodeJS.Timeout | undefined;
  #measuring: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: StoreClockOptions) {
    this.#options = options;
  }

  /** Milliseconds since 1970; never less than before. */
  readonly now = (): number => {
    const ahead = this.#ahead;
    const read = ahead === undefined ? this.#options.machine() : performance.now() + ahead;
    this.#last = Math.max(this.#last, Math.floor(read));
    return this.#last;
  };

  /** Difference of the machine's clock and the store's at the last measurement, in seconds; positive if the machine's is ahead. */
  get skewSeconds(): number {
    return this.#skewMillis / 1000;
  }

  /** Reads the time of the store. Without an answer nothing changes. */
  async measure(): Promise<void> {
    const began = performance.now();
    const time = await this.#options.store.time?.().catch(() => undefined);
    const ended = performance.now();
    const uncertainty = (ended - began) / 2;
    // An answer that took this long tells less than the last one.
    if (time === undefined || (uncertainty > TOLERANCE_MILLIS && this.#ahead !== undefined)) return;
    this.#ahead = time - (began + uncertainty);
    this.#skewMillis = this.#options.machine() - (this.#ahead + ended);
    this.#report(Math.abs(this.#skewMillis) - uncertainty > TOLERANCE_MILLIS);
  }

  /** Measures in the background until the clock is closed. */
  begin(): void {
    if (this.#closed || this.#options.store.time === undefined) return;
    this.#timer = setTimeout(() => {
      this.#measuring = this.measure().then(() => this.begin());
    }, INTERVAL_MILLIS);
    this.#timer.unref();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#measuring;
  }

  #report(skewed: boolean): void {
    if (skewed === this.#skewed) return;
    this.#skewed = skewed;
    this.#options.onSkew?.(skewed ? this.#sentence() : undefined);
  }

  #sentence(): string {
    const side = this.#skewMillis < 0 ? 'behind' : 'ahead of';
    const seconds = Math.abs(this.skewSeconds).toFixed(1);
    return `the clock of this machine is ${seconds} s ${side} the clock of the store; synchronize both clocks`;
  }
}
