import { errors, type JWTVerifyGetKey } from 'jose';
import { fetchKeySet, KeySetError } from './fetch-key-set.ts';
import {
  KeysUnavailable,
  lookupIn,
  type KeySet,
  type KeySetEvents,
  type VerificationKey,
} from './key-set.ts';

/** Intervals of a remote key set, in ms. */
export interface RemoteTimes {
  /** Keys that are older are fetched again, beside the requests. */
  readonly refresh: number;
  /** Maximum age of keys that cannot be fetched again, in ms. */
  readonly grace: number;
  /** The pause after a failed fetch: it doubles from the first to the longest. */
  readonly retry: readonly [first: number, longest: number];
  /** The pause after a request for a missing key, in ms. It doubles while no keys change. */
  readonly unknown: readonly [first: number, longest: number];
  /** A fetch takes no longer. */
  readonly timeout: number;
}

export const remoteTimes: RemoteTimes = {
  refresh: 5 * 60_000,
  grace: 60 * 60_000,
  retry: [1_000, 30_000],
  unknown: [10_000, 5 * 60_000],
  timeout: 5_000,
};

/** Options of a remote key set. */
interface RemoteKeySetOptions {
  readonly events: KeySetEvents;
  readonly times: RemoteTimes;
  /** Milliseconds on a clock that only goes forward. */
  readonly now: () => number;
}

/**
 * A key set at an address. It is fetched when it is made and again every few
 * minutes, so that requests do not wait for it and a withdrawn key ends soon.
 * A token that names an unknown key brings a fetch forward, but not often:
 * made-up key names must not cause requests to the issuer. While
 * the issuer is unavailable its last keys hold for a while.
 */
export class RemoteKeySet implements KeySet {
  readonly uri: string;
  readonly find: JWTVerifyGetKey = (header, token) => this.#find(header, token);
  readonly #options: RemoteKeySetOptions;
  readonly #closed = new AbortController();
  #keys: JWTVerifyGetKey | undefined;
  #text = '';
  #fetchedAt = 0;
  #fetchedTime = '';
  #next = 0;
  #retry: number;
  #unknownNext = Number.NEGATIVE_INFINITY;
  #unknownPause: number;
  #fetching: Promise<void> | undefined;
  #failure: string | undefined;

  constructor(uri: string, options: RemoteKeySetOptions) {
    this.uri = uri;
    this.#options = options;
    this.#retry = options.times.retry[0];
    this.#unknownPause = options.times.unknown[0];
    void this.#refresh();
  }

  get fault(): string | undefined {
    if (this.#failure === undefined) return undefined;
    const state =
      this.#keys === undefined
        ? 'there are no keys'
        : `the keys of ${this.#fetchedTime} are still accepted`;
    return `${this.uri} cannot be fetched: ${this.#failure}; ${state}`;
  }

  tick(): void {
    const now = this.#options.now();
    this.#giveUpOld(now);
    if (now >= this.#next) void this.#refresh();
  }

  close(): void {
    this.#closed.abort();
  }

  async #find(...parameters: Parameters<JWTVerifyGetKey>): Promise<VerificationKey> {
    if (this.#keys === undefined) await this.#fetching;
    try {
      return await this.#current()(...parameters);
    } catch (error) {
      const unknown = error instanceof errors.JWKSNoMatchingKey;
      if (!unknown || !(await this.#fetchedForUnknown())) throw error;
      return this.#current()(...parameters);
    }
  }

  #current(): JWTVerifyGetKey {
    this.#giveUpOld(this.#options.now());
    if (this.#keys !== undefined) return this.#keys;
    throw new KeysUnavailable(this.fault ?? 'the keys have not been fetched yet');
  }

  /** Fetches the keys for a token whose key is unknown, if that may be done now. */
  async #fetchedForUnknown(): Promise<boolean> {
    const now = this.#options.now();
    if (this.#fetching === undefined && now < this.#unknownNext) return false;
    if (this.#fetching === undefined) {
      this.#unknownNext = now + this.#unknownPause;
      this.#unknownPause = Math.min(2 * this.#unknownPause, this.#options.times.unknown[1]);
    }
    await this.#refresh();
    return true;
  }

  #giveUpOld(now: number): void {
    if (this.#keys === undefined || now - this.#fetchedAt <= this.#options.times.grace) return;
    this.#keys = undefined;
    this.#text = '';
    this.#failure ??= 'nothing was tried in time';
    this.#options.events.changed();
    this.#options.events.failed(`${this.fault}`);
  }

  #refresh(): Promise<void> {
    this.#fetching ??= this.#fetch().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  async #fetch(): Promise<void> {
    const { times, now } = this.#options;
    const signal = AbortSignal.any([this.#closed.signal, AbortSignal.timeout(times.timeout)]);
    try {
      const text = await fetchKeySet(this.uri, signal);
      this.#take(text);
      this.#next = now() + times.refresh;
    } catch (error) {
      if (this.#closed.signal.aborted) return;
      this.#fail(
        error instanceof KeySetError ? error.message : 'the answer is no JSON Web Key Set',
      );
      this.#next = now() + this.#retry;
      this.#retry = Math.min(2 * this.#retry, times.retry[1]);
    }
  }

  #take(text: string): void {
    const { events, times, now } = this.#options;
    if (text !== this.#text) {
      this.#keys = lookupIn(text);
      this.#text = text;
      this.#unknownPause = times.unknown[0];
      this.#unknownNext = Math.min(this.#unknownNext, now() + this.#unknownPause);
      events.changed();
    }
    this.#fetchedAt = now();
    this.#fetchedTime = new Date().toISOString();
    this.#retry = times.retry[0];
    if (this.#failure !== undefined) events.recovered();
    this.#failure = undefined;
  }

  #fail(why: string): void {
    const isRepeated = this.#failure !== undefined;
    this.#failure = why;
    if (!isRepeated) this.#options.events.failed(`${this.fault}`);
  }
}
