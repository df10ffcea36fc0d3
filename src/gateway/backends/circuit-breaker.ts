import { BackendUnavailable } from './backend-unavailable.ts';

/** A request that the breaker let through and whose result is not known yet. */
export interface Trial {
  succeeded(): void;
  failed(): void;
  /** The backend is not at fault, for example because the client disconnected. */
  undecided(): void;
}

export interface BreakerOptions {
  /** Name of the backend, for the sentence of a refusal. */
  readonly name: string;
  readonly failures: number;
  /** Milliseconds. */
  readonly open: number;
  /** A monotonic clock, in milliseconds. */
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
  readonly #heard = (well: boolean | undefined): void => {
    if (well !== undefined) this.note(well);
  };

  constructor(options: BreakerOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Whether requests are refused now, and nothing is known to have changed. */
  get open(): boolean {
    return this.#until !== undefined;
  }

  /** Lets a request through. @throws BackendUnavailable when the backend is given a rest */
  enter(): Trial {
    if (this.#until === undefined) return new OneTrial(this.#heard);
    const left = this.#until - this.#now();
    if (left > 0 || this.#trying) {
      const seconds = Math.max(1, Math.ceil(left / 1000));
      const { name } = this.#options;
      throw new BackendUnavailable(
        `the backend ${name} failed and is tried again later`,
        String(seconds),
      );
    }
    this.#trying = true;
    return new OneTrial((well) => {
      this.#trying = false;
      this.#heard(well);
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

/** Only the first word that is heard of a request counts. */
class OneTrial implements Trial {
  #hear: ((well: boolean | undefined) => void) | undefined;

  /** @param hear Called with whether the backend succeeded; undefined if that is not known. */
  constructor(hear: (well: boolean | undefined) => void) {
    this.#hear = hear;
  }

  succeeded(): void {
    this.#tell(true);
  }

  failed(): void {
    this.#tell(false);
  }

  undecided(): void {
    this.#tell(undefined);
  }

  #tell(well: boolean | undefined): void {
    const hear = this.#hear;
    this.#hear = undefined;
    hear?.(well);
  }
}
