import { LIMITS_FILE, type Limit } from '../../policy/settings/limit.ts';
import { CatalogError } from '../../protocol/errors.ts';
import type { QuotaReading } from '../../store/quota.ts';

/** Details of a limit for the caller. */
export type NamedLimit = Pick<Limit, 'name' | 'per' | 'rate' | 'concurrency'>;

/** State of a limit for a caller. */
export interface LimitState {
  readonly limit: NamedLimit;
  readonly reading: QuotaReading;
}

/** Whether it keeps a request from being let through now. */
function isRefusing({ reading }: LimitState): boolean {
  return reading.busy || reading.waitMicros > 0;
}

/** Tolerance for sums of rounded fractions, in microseconds. */
const NOTHING_MICROS = 2;

/** Microseconds as seconds, rounded up. */
export function wholeSeconds(micros: number): number {
  return Math.ceil(Math.max(0, micros - NOTHING_MICROS) / 1_000_000);
}

/** `Retry-After` of a concurrency limit, in microseconds: the end of a running request cannot be predicted. */
const BUSY_MICROS = 1_000_000;

/** A request beyond a limit (RFC 6585 section 4). */
export class Throttled extends CatalogError {
  readonly limits: readonly LimitState[];
  /** The first limit that refused: `limits.yaml:` and its name. */
  readonly rule: string;
  /** Whole seconds after which it may be sent again. */
  readonly retrySeconds: number;

  constructor(limits: readonly LimitState[]) {
    const refusing = limits.filter(isRefusing);
    const waits = refusing.map(({ reading }) =>
      Math.max(reading.waitMicros, reading.busy ? BUSY_MICROS : 0),
    );
    const seconds = Math.max(1, wholeSeconds(Math.max(0, ...waits)));
    super('Throttling', `${refusing.map(sentenceOf).join('; ')}: try again in ${seconds} s`);
    this.limits = limits;
    this.rule = `${LIMITS_FILE}:${refusing[0]?.limit.name ?? ''}`;
    this.retrySeconds = seconds;
  }
}

function sentenceOf({ limit, reading }: LimitState): string {
  const what =
    reading.waitMicros > 0
      ? `${limit.rate?.text}, ${limit.rate?.burst} at once`
      : `${limit.concurrency} that run at once`;
  return `the limit ${limit.name} (${what}, per ${limit.per}) is reached`;
}
