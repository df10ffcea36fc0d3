import { CatalogError } from '../protocol/errors.ts';
import type { PolicySnapshot } from '../policy/decide/snapshot.ts';
import { LIMITS_FILE, type Limit, type LimitScope } from '../policy/settings/limit.ts';
import type { Quota, QuotaUse } from '../store/quota.ts';
import { StoreError } from '../store/store-error.ts';

/** Counters that are read, and those that are answered. */
const MOST_READ = 1000;
const MOST_ANSWERED = 200;

/** A counter of a limit that is in use. */
interface LimitLevel {
  readonly limit: string;
  /** `limits.yaml:LINE`. */
  readonly rule: string;
  readonly per: LimitScope;
  /** What is counted: `user:ann`, `address:10.0.0.1`, `object:/prod/orders`. */
  readonly value: string;
  /** Units that are available now, and at most; null without a rate. */
  readonly left: number | null;
  readonly burst: number | null;
  /** Milliseconds until the whole burst is available. */
  readonly full_ms: number;
  /** Requests in flight, and at most; null without a limit of them. */
  readonly in_flight: number | null;
  readonly concurrency: number | null;
}

interface LimitLevels {
  /** The fullest first. */
  readonly levels: readonly LimitLevel[];
  /** How many counters are in use, as far as they were read. */
  readonly total: number;
}

/**
 * The counters of limits that are in use now, whatever they count. Reading charges nothing.
 * @throws CatalogError ServiceUnavailable while nothing is counted
 */
export async function limitLevels(
  { limits: { limits } }: PolicySnapshot,
  quota: Quota,
): Promise<LimitLevels> {
  if (limits.length === 0) return { levels: [], total: 0 };
  const byName = new Map(limits.map((limit) => [limit.name, limit]));
  const levels = (await usesOf(quota)).flatMap((use) => levelOf(byName, use));
  const sorted = levels.toSorted((one, other) => shareOf(other) - shareOf(one));
  return { levels: sorted.slice(0, MOST_ANSWERED), total: levels.length };
}

/** Names of limits have no colon. */
const KEY = /^([^:]+):(.+)$/s;

function levelOf(limits: ReadonlyMap<string, Limit>, use: QuotaUse): readonly LimitLevel[] {
  const [, name = '', value = ''] = KEY.exec(use.key) ?? [];
  const limit = limits.get(name);
  if (limit === undefined) return [];
  const { line, per, rate, concurrency } = limit;
  const taken = rate === null ? 0 : Math.ceil((use.fullMicros - 1) / rate.intervalMicros);
  return [
    {
      limit: name,
      rule: `${LIMITS_FILE}:${line}`,
      per,
      value,
      left: rate === null ? null : Math.max(0, rate.burst - taken),
      burst: rate?.burst ?? null,
      full_ms: rate === null ? 0 : Math.ceil(use.fullMicros / 1000),
      in_flight: concurrency === null ? null : use.slots,
      concurrency,
    },
  ];
}

/** How much of a limit is used, from 0 to 1. */
function shareOf({ left, burst, in_flight, concurrency }: LimitLevel): number {
  const ofRate = left === null || burst === null ? 0 : 1 - left / burst;
  const ofSlots = in_flight === null || concurrency === null ? 0 : in_flight / concurrency;
  return Math.max(ofRate, ofSlots);
}

async function usesOf(quota: Quota): Promise<readonly QuotaUse[]> {
  try {
    return await quota.used(MOST_READ);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    throw new CatalogError('ServiceUnavailable', 'the counters of limits cannot be read now');
  }
}
