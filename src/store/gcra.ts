import type { QuotaAsk, QuotaRate } from './quota.ts';

/** Times are sums of fractions: less than this, in microseconds, is no time at all. */
const NOTHING = 0.1;

/** What a counter says of a request, before it is known whether all others grant it. */
export interface Weighed {
  /** The counter as it is, and as it will be if the request is let through. */
  readonly before: number;
  readonly after: number;
  /** Microseconds until it could be let through; 0 if it can. */
  readonly waitMicros: number;
}

/**
 * Weighs a request by the generic cell rate algorithm (ITU-T I.371, the virtual
 * scheduling form). The counter is the time at which all that was taken is paid off:
 * it may lie ahead of now by no more than the burst.
 * @param counter In microseconds of the same clock as `now`; undefined for one that nothing was taken from.
 */
export function weigh(
  { cost }: QuotaAsk,
  rate: QuotaRate,
  counter: number | undefined,
  now: number,
): Weighed {
  const span = rate.intervalMicros * rate.burst;
  // A limit that was made smaller must not hold up those who used the larger one.
  const before = Math.max(now, Math.min(counter ?? now, now + span));
  const after = before + rate.intervalMicros * cost;
  const wait = cost === 0 ? 0 : after - now - span;
  return { before, after, waitMicros: wait > NOTHING ? Math.ceil(wait) : 0 };
}

/** Units that may be taken at once when the counter stands so. */
export function unitsLeft(rate: QuotaRate, counter: number, now: number): number {
  return Math.max(0, Math.floor(rate.burst - (counter - now - NOTHING) / rate.intervalMicros));
}
