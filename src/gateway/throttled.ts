import { LIMITS_FILE } from '../policy/limit.ts';
import { CatalogError } from '../protocol/errors.ts';
import { isRefusing, wholeSeconds, type LimitState } from './limit-state.ts';

/** Nobody knows when one of those that run will end; a client may ask again so soon. */
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
