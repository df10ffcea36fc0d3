import type { Quota, QuotaCharge, QuotaUse } from '../../store/quota.ts';
import { networkOf } from '../http/networks.ts';
import { CatalogError } from '../../protocol/errors.ts';

/** A request from a source of too many wrong credentials (code 21). */
export class TooManyFailures extends CatalogError {
  /** Seconds until the same request may succeed; at least 1. */
  readonly retryAfter: number;

  constructor(retryAfterMillis: number) {
    super('Throttling', 'too many credentials from this address or its network were wrong');
    this.retryAfter = Math.max(1, Math.ceil(retryAfterMillis / 1000));
  }
}

const MINUTE_MILLIS = 60_000;
/** A network may fail this many times as often as one of its addresses. */
const NETWORK_SHARE = 4;
const NETWORK_BITS = { 4: 24, 6: 64 } as const;
/** Maximum number of remembered sources; the one whose last failure is oldest goes first. */
const REMEMBERED = 50_000;

/** Name of the key of the configuration, and of the limit in answers and records. */
export const FAILURES_LIMIT = 'limits.failed_identifications';

/** How much of its failures a source has used. */
interface FailureUse {
  /** An address, or a network such as 10.0.0.0/24. */
  readonly source: string;
  /** Failures that it may still have now, and at once at most. */
  readonly left: number;
  readonly burst: number;
  /** Milliseconds until it may have all of them. */
  readonly fullMillis: number;
}

/**
 * Counts failed identifications by address and by the network around it (/24,
 * /64), and refuses sources with too many, before any credential is checked. Generic cell
 * rate algorithm (ITU-T I.371): a burst, then one more as each one's share of a minute
 * passes. Other gateways are asked only after a failure, so a right credential never waits.
 */
export class FailureLimit {
  readonly #perMinute: number | null;
  readonly #now: () => number;
  readonly #shared: Quota | undefined;
  /** By source, the moment at which it has failed no more than it may at any time. */
  readonly #until = new Map<string, number>();

  /**
   * @param perMinute Failures of an address in a minute; null for any number.
   * @param shared Counters that other gateways count in, too.
   */
  constructor(
    perMinute: number | null,
    shared?: Quota,
    now: () => number = () => performance.now(),
  ) {
    this.#perMinute = perMinute;
    this.#shared = shared;
    this.#now = now;
  }

  /** @throws TooManyFailures when the address or its network has failed too often */
  check(address: string): void {
    if (this.#perMinute === null || this.#until.size === 0) return;
    const now = this.#now();
    const waits = this.#sources(address).map(([source, each]) => {
      const until = this.#until.get(source) ?? now;
      return until + each - MINUTE_MILLIS - now;
    });
    const wait = Math.max(...waits);
    if (wait <= 0) return;
    throw new TooManyFailures(wait);
  }

  count(address: string): void {
    const now = this.#now();
    for (const [source, each] of this.#sources(address)) {
      const until = Math.max(this.#until.get(source) ?? now, now) + each;
      this.#until.delete(source);
      this.#until.set(source, until);
    }
    this.#shrink(now);
  }

  /** Takes back a failure that was counted in advance. */
  forgive(address: string): void {
    const now = this.#now();
    for (const [source, each] of this.#sources(address)) {
      const until = (this.#until.get(source) ?? now) - each;
      if (until <= now) this.#until.delete(source);
      else this.#until.set(source, until);
    }
  }

  /**
   * Lets the other gateways know of a failure that was counted, and learns how often its source has
   * failed at all of them. Callers need not wait for it: while the others cannot be asked, only local failures count.
   */
  async share(address: string): Promise<void> {
    const sources = this.#sources(address);
    if (this.#shared === undefined || sources.length === 0) return;
    try {
      const { readings } = await this.#shared.take(sources.map(quotaAskOf));
      const now = this.#now();
      for (const [at, [source]] of sources.entries()) {
        const until = now + readings[at]!.fullMicros / 1000;
        if (until > (this.#until.get(source) ?? now)) this.#until.set(source, until);
      }
      this.#shrink(now);
    } catch {
      // The counters report their own fault.
    }
  }

  /** Whether other gateways count in the same counters. */
  get isShared(): boolean {
    return this.#perMinute !== null && this.#shared !== undefined;
  }

  /**
   * The sources that have failed, and how much they have used.
   * @param shared Counters that are in use at all gateways.
   */
  used(shared: readonly QuotaUse[]): readonly FailureUse[] {
    if (this.#perMinute === null) return [];
    const now = this.#now();
    const millis = new Map<string, number>();
    for (const [source, until] of this.#until) if (until > now) millis.set(source, until - now);
    for (const { key, fullMicros } of shared) {
      if (!key.startsWith(SHARED)) continue;
      const source = key.slice(SHARED.length);
      millis.set(source, Math.max(millis.get(source) ?? 0, fullMicros / 1000));
    }
    return [...millis].map(([source, fullMillis]) => this.#useOf(source, fullMillis));
  }

  #useOf(source: string, fullMillis: number): FailureUse {
    const each = this.#costOf(isNetwork(source));
    const left = Math.max(0, Math.floor((MINUTE_MILLIS - fullMillis) / each + ROUNDING));
    return { source, left, burst: Math.round(MINUTE_MILLIS / each), fullMillis };
  }

  /** How many sources are remembered. */
  get size(): number {
    return this.#until.size;
  }

  /** The sources that an address counts for, each with what one failure costs it, in milliseconds. */
  #sources(address: string): readonly (readonly [source: string, each: number])[] {
    if (this.#perMinute === null) return [];
    return [
      [address, this.#costOf(false)],
      [networkOf(address, NETWORK_BITS), this.#costOf(true)],
    ];
  }

  /** Milliseconds that a failure costs an address, or a network. */
  #costOf(network: boolean): number {
    const each = MINUTE_MILLIS / (this.#perMinute ?? Infinity);
    return network ? each / NETWORK_SHARE : each;
  }

  #shrink(now: number): void {
    if (this.#until.size <= REMEMBERED) return;
    for (const [source, until] of this.#until) {
      if (until > now && this.#until.size <= REMEMBERED) return;
      this.#until.delete(source);
    }
  }
}

/** Whether a source is a network, and no address. */
export function isNetwork(source: string): boolean {
  return source.includes('/');
}

/** Begin of the names of shared counters; no limit has such a name. */
const SHARED = '(failed):';
/** A failure whose milliseconds are no whole number is not lost to rounding. */
const ROUNDING = 1e-6;

/** The same failure, as counters ask for it. */
function quotaAskOf([source, each]: readonly [source: string, each: number]): QuotaCharge {
  const rate = { intervalMicros: each * 1000, burst: Math.round(MINUTE_MILLIS / each) };
  return { key: SHARED + source, rate, cost: 1, concurrency: null };
}
