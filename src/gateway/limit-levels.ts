import { CatalogError } from '../protocol/errors.ts';
import { LIMITS_FILE, type Limit, type LimitScope } from '../policy/settings/limit.ts';
import type { Quota, QuotaUse } from '../store/quota.ts';
import { StoreError } from '../store/store-error.ts';
import type { Gateway } from './gateway.ts';
import { FAILURES_LIMIT, isNetwork, type FailureLimit } from './identity/failure-limit.ts';
import { SCANS_LIMIT, type Scans } from './scans.ts';

/** Counters that are read, and those that are answered. */
const MOST_READ = 1000;
const MOST_ANSWERED = 200;

/** A counter of a limit that is in use. */
interface LimitLevel {
  readonly limit: string;
  /** `limits.yaml:LINE`, or a key of the configuration. */
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

/** What is read of a gateway. */
type Counting = Pick<Gateway, 'policy' | 'quota' | 'scans' | 'identification'>;

/**
 * The counters of limits that are in use now, whatever they count. Reading charges nothing. Scans are those of this process.
 * @param reader The subject that asks, in a request that counts as a scan and is left out.
 * @throws CatalogError ServiceUnavailable while nothing is counted
 */
export async function limitLevels(
  { policy, quota, scans, identification: { failures } }: Counting,
  reader: string,
): Promise<LimitLevels> {
  const { limits } = policy.current().limits;
  const byName = new Map(limits.map((limit) => [limit.name, limit]));
  const uses = limits.length > 0 || failures.isShared ? await usesOf(quota) : [];
  const levels = [
    ...uses.flatMap((use) => levelOf(byName, use)),
    ...scanLevels(scans, reader),
    ...failureLevels(failures, uses),
  ];
  const sorted = levels.toSorted((one, other) => shareOf(other) - shareOf(one));
  return { levels: sorted.slice(0, MOST_ANSWERED), total: levels.length };
}

function scanLevels(scans: Scans, reader: string): readonly LimitLevel[] {
  return scans.used().flatMap(({ subject, running, most }) => {
    const others = subject === reader ? running - 1 : running;
    if (others === 0) return [];
    return [
      {
        limit: SCANS_LIMIT,
        rule: SCANS_LIMIT,
        per: 'subject',
        value: subject,
        left: null,
        burst: null,
        full_ms: 0,
        in_flight: others,
        concurrency: most,
      },
    ];
  });
}

function failureLevels(failures: FailureLimit, uses: readonly QuotaUse[]): readonly LimitLevel[] {
  return failures.used(uses).map(({ source, left, burst, fullMillis }) => {
    const per = isNetwork(source) ? 'network' : 'address';
    return {
      limit: FAILURES_LIMIT,
      rule: FAILURES_LIMIT,
      per,
      value: `${per}:${source}`,
      left,
      burst,
      full_ms: Math.ceil(fullMillis),
      in_flight: null,
      concurrency: null,
    };
  });
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
