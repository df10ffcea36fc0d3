import { BackendAway } from './backend-away.ts';

/** A request that a breaker let through, until it is told how that went. */
export interface Trial {
  succeeded(): void;
  failed(): void;
  /** The backend is not to blame: the client went away, say. */
  undecided(): void;
}

export interface BreakerOptions {
  /** Name of the backend, for the sentence of a refusal. */
  readonly name: string;
  readonly failures: number;
  /** Milliseconds. */
  readonly open: number;
  /** Milliseconds on a clock that never goes back. */
  readonly now?: () => number;
}

/**
 * Sends nothing to a backend that failed several times in a row: requests are
 * refused at once. When the time is over one request is let through, and
 * what becomes of it decides for all.
 */
export class CircuitBreaker {
  readonly #options: BreakerOptions;
  readonly #now: () => number;
  #failures = 0;
  /** When the next request may try; undefined while everything is well. */
  #until: number | undefined;
  #trying = false;

  constructor(options: BreakerOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Whether requests are refused now, and nothing is known to have changed. */
  get open(): boolean {
    return this.#until !== undefined;
  }

  /** Lets a request through. @throws BackendAway when the backend is given a rest */
  enter(): Trial {
    if (this.#until === undefined) return this.#trial(false);
    const left = this.#until - this.#now();
    if (left > 0 || this.#trying) {
      const seconds = Math.max(1, Math.ceil(left / 1000));
      const { name } = this.#options;
      throw new BackendAway(`the backend ${name} failed and is tried again later`, String(seconds));
    }
    this.#trying = true;
    return this.#trial(true);
  }

  /** What a check beside the requests found. */
  note(well: boolean): void {
    if (well) this.#close();
    else this.#fail();
  }

  #trial(only: boolean): Trial {
    let told = false;
    const once = (then: () => void) => (): void => {
      if (told) return;
      told = true;
      if (only) this.#trying = false;
      then();
    };
    return {
      succeeded: once(() => this.#close()),
      failed: once(() => this.#fail()),
      undecided: once(() => undefined),
    };
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
