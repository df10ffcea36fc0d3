import { setTimeout as sleep } from 'node:timers/promises';
import { CircuitBreaker } from '../circuit-breaker.ts';
import { isOutage, StorageRefused, StorageUnavailable } from '../storage-error.ts';
import { faultOf, faultText } from './bucket-fault.ts';

/** Bounds of the requests to an object store. Times in ms. */
export interface BucketLimits {
  /** Requests that are sent at the same time; as many as 16 times that wait for their turn. */
  readonly connections: number;
  /** A connection. */
  readonly connect: number;
  /** One request with its answer. */
  readonly attempt: number;
  /** One call, with all its attempts and pauses. */
  readonly deadline: number;
  /** Consecutive failed calls after which calls are refused at once, and for how long. */
  readonly breaker: { readonly failures: number; readonly open: number };
}

export const bucketLimits: BucketLimits = {
  connections: 64,
  connect: 3_000,
  attempt: 5_000,
  deadline: 10_000,
  breaker: { failures: 2, open: 5_000 },
};

/** A service that cannot be used. */
export interface Outage {
  readonly why: string;
  /** When it began, in ms since 1970. */
  readonly sinceMillis: number;
}

/** A service that calls go to, for errors. */
interface RemoteService {
  /** Such as `the object store lake`. */
  readonly what: string;
  /** What an operator checks when it refuses the gateway. */
  readonly check: string;
}

/** Slowest transfer of a body that is waited for, in bytes per ms. */
const SLOWEST_BYTES = 512;
/** Longest pause before the second attempt; each later one may be twice as long as the one before. */
const FIRST_PAUSE_MILLIS = 50;
const LONGEST_PAUSE_MILLIS = 2_000;
/** Waiting calls for each one that is sent. */
const WAITING = 16;

/**
 * Sends requests to one object store, or its security token service: some at a time, again after transient faults with growing
 * random pauses until a deadline, and none while the store is known to be unavailable.
 */
export class BucketCalls {
  readonly #service: RemoteService;
  readonly #limits: BucketLimits;
  readonly #breaker: CircuitBreaker;
  readonly #waiting: (() => void)[] = [];
  #sending = 0;
  #outage: Outage | undefined;

  constructor(service: RemoteService, limits: BucketLimits) {
    this.#service = service;
    this.#limits = limits;
    const refusal = (seconds: number): Error =>
      this.#unavailable('it failed and is tried again later', seconds);
    this.#breaker = new CircuitBreaker({ refusal, ...limits.breaker });
  }

  /** Why the last call failed, and since when calls fail; undefined if it did not. */
  get outage(): Outage | undefined {
    return this.#outage;
  }

  /**
   * Runs one call.
   * @param attempt Sends one request and reads its answer; it stops when the signal aborts.
   * @param bytes Size of the body that is sent or read: large ones get more time.
   * @throws StorageUnavailable after the deadline, StorageRefused, and other errors of `attempt`.
   */
  async run<Result>(
    attempt: (signal: AbortSignal) => Promise<Result>,
    bytes: number = 0,
  ): Promise<Result> {
    const trial = this.#breaker.enter();
    try {
      const result = await this.#attempts(attempt, Math.ceil(bytes / SLOWEST_BYTES));
      trial.succeeded();
      this.#outage = undefined;
      return result;
    } catch (error) {
      if (isOutage(error) && !(error instanceof TooManyCalls)) {
        this.#outage = { why: error.message, sinceMillis: this.#outage?.sinceMillis ?? Date.now() };
      }
      // The wait for a turn tells nothing about the store.
      if (error instanceof TooManyCalls) trial.undecided();
      else if (error instanceof StorageUnavailable) trial.failed();
      else trial.succeeded();
      throw error;
    }
  }

  async #attempts<Result>(
    attempt: (signal: AbortSignal) => Promise<Result>,
    extra: number,
  ): Promise<Result> {
    const until = performance.now() + this.#limits.deadline + extra;
    for (let count = 0; ; count += 1) {
      try {
        return await this.#turn(attempt, extra, until);
      } catch (error) {
        await this.#pauseAfter(error, count, until);
      }
    }
  }

  /** Waits before the next attempt. @throws the error that ends the call, where there is none */
  async #pauseAfter(error: unknown, count: number, until: number): Promise<void> {
    if (error instanceof StorageUnavailable) throw error;
    const kind = faultOf(error);
    if (kind === 'refused') throw this.#refused(error);
    if (kind !== 'transient') throw error;
    const longest = Math.min(LONGEST_PAUSE_MILLIS, FIRST_PAUSE_MILLIS * 2 ** count);
    const pause = longest * (0.5 + Math.random() / 2);
    if (performance.now() + pause >= until) throw this.#unavailable(faultText(error), 1, error);
    await sleep(pause);
  }

  /** One attempt in its turn. */
  async #turn<Result>(
    attempt: (signal: AbortSignal) => Promise<Result>,
    extra: number,
    until: number,
  ): Promise<Result> {
    await this.#enter(until);
    try {
      const left = Math.max(1, Math.ceil(until - performance.now()));
      const millis = Math.min(this.#limits.attempt + extra, left);
      return await attempt(AbortSignal.timeout(millis));
    } finally {
      this.#leave();
    }
  }

  async #enter(until: number): Promise<void> {
    const { connections } = this.#limits;
    if (this.#sending < connections) {
      this.#sending += 1;
      return;
    }
    if (this.#waiting.length >= connections * WAITING) throw this.#busy();
    // The slot of the one that leaves is handed on.
    await new Promise<void>((resolve, reject) => {
      const turn = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(turn), 1);
        reject(this.#busy());
      }, until - performance.now());
      this.#waiting.push(turn);
    });
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#sending -= 1;
    else next();
  }

  #busy(): TooManyCalls {
    return new TooManyCalls(`too many requests wait for ${this.#service.what}`, 1);
  }

  #unavailable(why: string, seconds: number, cause?: unknown): StorageUnavailable {
    const message = `${this.#service.what} is unavailable: ${why}`;
    return new StorageUnavailable(message, seconds, cause);
  }

  #refused(error: unknown): StorageRefused {
    const { what, check } = this.#service;
    return new StorageRefused(
      `${what} refuses the gateway: ${faultText(error)}; check ${check}`,
      error,
    );
  }
}

/** A call that did not get its turn. */
class TooManyCalls extends StorageUnavailable {}
