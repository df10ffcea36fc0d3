import { CatalogError } from '../protocol/errors.ts';
import type { PolicySnapshot } from '../policy/decide/snapshot.ts';
import { LIMITS_FILE, type Limit, type LimitScope } from '../policy/settings/limit.ts';
import type { Quota, QuotaCharge, QuotaReading } from '../store/quota.ts';
import { StoreError } from '../store/store-error.ts';

/** Counters that are read at once. */
const MOST_COUNTERS = 500;

/** A counter of a rate that is below its burst. */
interface LimitLevel {
  readonly limit: string;
  /** `limits.yaml:LINE`. */
  readonly rule: string;
  readonly per: LimitScope;
  readonly value: string;
  /** Units that are available now, and at most. */
  readonly left: number;
  readonly burst: number;
  /** Milliseconds until the whole burst is available. */
  readonly full_ms: number;
}

interface Counter {
  readonly limit: Limit;
  readonly value: string;
  readonly charge: QuotaCharge;
}

/** Values of counters by scope, as `limit` names them. */
type CounterValues = Readonly<Partial<Record<LimitScope, readonly string[]>>>;

/**
 * The rates that are in use now, of the counters of some values. Reading charges nothing.
 * @throws CatalogError ServiceUnavailable while nothing is counted
 */
export async function limitLevels(
  { limits }: PolicySnapshot,
  quota: Quota,
  values: CounterValues,
): Promise<readonly LimitLevel[]> {
  const counters = limits.limits
    .flatMap((limit) => countersOf(limit, values[limit.per] ?? []))
    .slice(0, MOST_COUNTERS);
  if (counters.length === 0) return [];
  const readings = await readingsOf(quota, counters);
  return counters.flatMap(({ limit, value }, at) => levelOf(limit, value, readings[at]));
}

function countersOf(limit: Limit, values: readonly string[]): readonly Counter[] {
  const { name, rate } = limit;
  if (rate === null) return [];
  return values.map((value) => ({
    limit,
    value,
    charge: { key: `${name}:${value}`, rate, cost: 0, concurrency: null },
  }));
}

function levelOf(
  { name, line, per, rate }: Limit,
  value: string,
  reading: QuotaReading | undefined,
): readonly LimitLevel[] {
  const left = reading?.left ?? null;
  if (rate === null || reading === undefined || left === null || left >= rate.burst) return [];
  const millis = Math.ceil(reading.fullMicros / 1000);
  const shared = { limit: name, rule: `${LIMITS_FILE}:${line}`, per, value };
  return [{ ...shared, left, burst: rate.burst, full_ms: millis }];
}

async function readingsOf(
  quota: Quota,
  counters: readonly Counter[],
): Promise<readonly QuotaReading[]> {
  try {
    const { readings, release } = await quota.take(counters.map(({ charge }) => charge));
    release();
    return readings;
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    throw new CatalogError('ServiceUnavailable', 'the counters of limits cannot be read now');
  }
}
