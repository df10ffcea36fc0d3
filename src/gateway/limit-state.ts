import type { Limit } from '../policy/limit.ts';
import type { QuotaReading } from '../store/quota.ts';

/** How a limit stands for a caller. */
export interface LimitState {
  readonly limit: Limit;
  readonly reading: QuotaReading;
}

/** Whether it keeps a request from being let through now. */
export function isRefusing({ reading }: LimitState): boolean {
  return reading.busy || reading.waitMicros > 0;
}
