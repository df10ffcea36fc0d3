import type {
  Quota,
  QuotaAnswer,
  QuotaCharge,
  QuotaReading,
  QuotaRate,
  QuotaUse,
} from '../quota.ts';

/** Rounding error of times, in microseconds. */
const NOTHING = 0.1;

/** State of a counter for a request, before and after its charge. */
interface Weighed {
  /** Value of the counter now, and after the charge. */
  readonly before: number;
  readonly after: number;
  /** Microseconds until the request is granted; 0 if it is. */
  readonly waitMicros: number;
}

/**
 * Weighs a request by the generic cell rate algorithm (ITU-T I.371, the virtual
 * scheduling form). The counter is the time at which all that was taken is paid off:
 * it may lie ahead of now by no more than the burst.
 * @param counter In microseconds of the same clock as `now`; undefined for one that nothing was taken from.
 */
function weigh(
  { cost }: QuotaCharge,
  rate: QuotaRate,
  counter: number | undefined,
  now: number,
): Weighed {
  const span = rate.intervalMicros * rate.burst;
  // A reduced limit must not delay callers that used the larger one.
  const before = Math.max(now, Math.min(counter ?? now, now + span));
  const after = before + rate.intervalMicros * cost;
  const wait = cost === 0 ? 0 : after - now - span;
  return { before, after, waitMicros: wait > NOTHING ? Math.ceil(wait) : 0 };
}

/** Units that are available at a value of the counter. */
function unitsLeft(rate: QuotaRate, counter: number, now: number): number {
  return Math.max(0, Math.floor(rate.burst - (counter - now - NOTHING) / rate.intervalMicros));
}

/** Maximum number of counters; the least recently used ones are removed. */
const MOST_COUNTERS = 100_000;
/** Number of counters after a removal. */
const LEFT_COUNTERS = 90_000;

/** A charge with the state of its counter. */
interface WeighedRequest {
  readonly charge: QuotaCharge;
  readonly weighed: Weighed | undefined;
  readonly used: number;
  readonly busy: boolean;
}

/** Counters in the memory of this process. */
export class MemoryQuota implements Quota {
  /** In order of their last use. A counter that is in the past is the same as none. */
  readonly #counters = new Map<string, number>();
  readonly #slots = new Map<string, number>();
  readonly #most: number;
  readonly #now: () => number;

  /**
   * @param most Maximum number of counters.
   * @param now Monotonic clock, in microseconds.
   */
  constructor(most = MOST_COUNTERS, now = () => performance.now() * 1000) {
    this.#most = most;
    this.#now = now;
  }

  /** Number of counters. */
  get size(): number {
    return this.#counters.size;
  }

  take(charges: readonly QuotaCharge[]): QuotaAnswer {
    const now = this.#now();
    const judged = charges.map((charge) => this.#judge(charge, now));
    const granted = judged.every(isGranted);
    if (granted) for (const one of judged) this.#charge(one);
    if (this.#counters.size > this.#most) this.#forget(now);
    return {
      granted,
      readings: judged.map((one) => readingOf(one, granted, now)),
      release: granted && charges.some(holds) ? this.#releaseOf(charges) : nothing,
    };
  }

  /** Gives back units that a rate was charged and that were not used. */
  refund(key: string, { intervalMicros }: QuotaRate, units: number): void {
    const counter = this.#counters.get(key);
    if (counter !== undefined) this.#counters.set(key, counter - intervalMicros * units);
  }

  async used(most: number): Promise<readonly QuotaUse[]> {
    const now = this.#now();
    return [...new Set([...this.#counters.keys(), ...this.#slots.keys()])]
      .map((key) => ({
        key,
        fullMicros: Math.ceil(Math.max(0, (this.#counters.get(key) ?? now) - now)),
        slots: this.#slots.get(key) ?? 0,
      }))
      .filter(({ fullMicros, slots }) => fullMicros > 0 || slots > 0)
      .toSorted((one, other) => other.fullMicros - one.fullMicros)
      .slice(0, most);
  }

  fault(): undefined {}

  async close(): Promise<void> {
    this.#counters.clear();
  }

  #judge(charge: QuotaCharge, now: number): WeighedRequest {
    const { key, rate, concurrency } = charge;
    const used = this.#slots.get(key) ?? 0;
    return {
      charge,
      weighed: rate === null ? undefined : weigh(charge, rate, this.#counters.get(key), now),
      used,
      busy: concurrency !== null && used >= concurrency,
    };
  }

  #charge({ charge, weighed, used }: WeighedRequest): void {
    if (weighed !== undefined && charge.cost > 0) {
      this.#counters.delete(charge.key);
      this.#counters.set(charge.key, weighed.after);
    }
    if (charge.concurrency !== null) this.#slots.set(charge.key, used + 1);
  }

  #releaseOf(charges: readonly QuotaCharge[]): () => void {
    let isHeld = true;
    return () => {
      if (isHeld) for (const charge of charges) if (holds(charge)) this.#leave(charge.key);
      isHeld = false;
    };
  }

  #leave(key: string): void {
    const left = (this.#slots.get(key) ?? 0) - 1;
    if (left > 0) this.#slots.set(key, left);
    else this.#slots.delete(key);
  }

  /** Removes counters. Their subjects may use a whole burst again, which is better than unbounded memory. */
  #forget(now: number): void {
    const left = Math.ceil((this.#most * LEFT_COUNTERS) / MOST_COUNTERS);
    for (const [key, counter] of this.#counters) if (counter <= now) this.#counters.delete(key);
    for (const key of this.#counters.keys()) {
      if (this.#counters.size <= left) return;
      this.#counters.delete(key);
    }
  }
}

const nothing = (): void => undefined;

function isGranted({ weighed, busy }: WeighedRequest): boolean {
  return !busy && (weighed?.waitMicros ?? 0) === 0;
}

/** Whether a charge takes a slot, which must be released. */
function holds({ concurrency }: QuotaCharge): boolean {
  return concurrency !== null;
}

function readingOf(
  { charge, weighed, used, busy }: WeighedRequest,
  granted: boolean,
  now: number,
): QuotaReading {
  const { rate, concurrency } = charge;
  const counter = weighed === undefined ? now : granted ? weighed.after : weighed.before;
  return {
    waitMicros: weighed?.waitMicros ?? 0,
    left: rate === null ? null : unitsLeft(rate, counter, now),
    fullMicros: Math.ceil(Math.max(0, counter - now)),
    slotsLeft: concurrency === null ? null : Math.max(0, concurrency - used - (granted ? 1 : 0)),
    busy,
  };
}
