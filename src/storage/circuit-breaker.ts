/** A request that the breaker let through and whose result is not known yet. */
export interface Trial {
  succeeded(): void;
  failed(): void;
  /** The service is not at fault, for example because the client disconnected. */
  undecided(): void;
}

interface BreakerOptions {
  /** The error of a refused request. @param seconds Time until the next trial, at least 1. */
  readonly refusal: (seconds: number) => Error;
  readonly failures: number;
  /** Milliseconds. */
  readonly open: number;
  /** A monotonic clock, in milliseconds. */
  readonly now?: () => number;
}

/**
 * Circuit breaker: after several failures in a row, requests to another service are refused at
 * once. When the pause is over, one request is let through, and its result decides for all.
 */
export class CircuitBreaker {
  readonly #options: BreakerOptions;
  readonly #now: () => number;
  #failures = 0;
  /** When the next request may try; undefined while closed. */
  #until: number | undefined;
  #trying = false;
  readonly #noted = (well: boolean | undefined): void => {
    if (well !== undefined) this.note(well);
  };

  constructor(options: BreakerOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Whether requests are refused. */
  get open(): boolean {
    return this.#until !== undefined;
  }

  /** Lets a request through. @throws the `refusal` while the circuit breaker is open */
  enter(): Trial {
    if (this.#until === undefined) return new OneTrial(this.#noted);
    const left = this.#until - this.#now();
    if (left > 0 || this.#trying) {
      throw this.#options.refusal(Math.max(1, Math.ceil(left / 1000)));
    }
    this.#trying = true;
    return new OneTrial((well) => {
      this.#trying = false;
      this.#noted(well);
    });
  }

  /** Result of a health check that runs beside the requests. */
  note(well: boolean): void {
    if (well) this.#close();
    else this.#fail();
  }

  #close(): void {
    this.#failures = 0;
    this.#until = undefined;
  }

  #fail(): void {
    this.#failures += 1;
    if (this.#failures < this.#options.failures) return;
    this.#until = this.#now() + this.#options.open;
  }
}

/** Only the first result of a request counts. */
class OneTrial implements Trial {
  #report: ((well: boolean | undefined) => void) | undefined;

  /** @param report Called with whether the service succeeded; undefined if that is not known. */
  constructor(report: (well: boolean | undefined) => void) {
    this.#report = report;
  }

  succeeded(): void {
    this.#settle(true);
  }

  failed(): void {
    this.#settle(false);
  }

  undecided(): void {
    this.#settle(undefined);
  }

  #settle(well: boolean | undefined): void {
    const report = this.#report;
    this.#report = undefined;
    report?.(well);
  }
}
