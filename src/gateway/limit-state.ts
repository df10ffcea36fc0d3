import type { Limit } from '../policy/limit.ts';
import type { QuotaReading } from '../store/quota.ts';

/** What a caller is told of a limit. */
export type NamedLimit = Pick<Limit, 'name' | 'per' | 'rate' | 'concurrency'>;

/** How a limit stands for a caller. */
export interface LimitState {
  readonly limit: NamedLimit;
  readonly reading: QuotaReading;
}

/** Whether it keeps a request from being let through now. */
export function isRefusing({ reading }: LimitState): boolean {
  return reading.busy || reading.waitMicros > 0;
}

/** Times are sums of fractions that were rounded up: so many microseconds are none. */
const NOTHING_MICROS = 2;

/** Microseconds as seconds, rounded up. */
export function wholeSeconds(micros: number): number {
  return Math.ceil(Math.max(0, micros - NOTHING_MICROS) / 1_000_000);
}
