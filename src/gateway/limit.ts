import type { Limit, LimitScope } from '../policy/limit.ts';
import type { PolicySnapshot } from '../policy/snapshot.ts';
import { CatalogError } from '../protocol/errors.ts';
import { StoreError } from '../store/errors.ts';
import type { Quota, QuotaAnswer, QuotaAsk } from '../store/quota.ts';
import { objectPath } from './known-route.ts';
import { networkOf } from './networks.ts';
import { grown } from './passage.ts';
import type { Identified, Limited } from './steps.ts';
import type { LimitState } from './limit-state.ts';
import { Throttled } from './throttled.ts';

/** One counter of a limit. */
interface Counted {
  readonly limit: Limit;
  readonly ask: QuotaAsk;
}

const nothing = (): void => undefined;

/**
 * Counts a request by every limit that is about it: by all of them, or by none when
 * one refuses. At once where no limit is about it.
 * @throws Throttled; CatalogError ServiceUnavailable while nothing can be counted and a
 * limit is closed then
 */
export function limit(
  identified: Identified,
  policy: PolicySnapshot,
  quota: Quota,
): Limited | Promise<Limited> {
  if (policy.limits.limits.length === 0) return unlimited(identified);
  const counted = countedBy(identified, policy);
  return counted.length === 0 ? unlimited(identified) : within(identified, counted, quota);
}

const none: readonly LimitState[] = [];

function unlimited(identified: Identified): Limited {
  return grown(identified, { limits: none, release: nothing });
}

async function within(
  identified: Identified,
  counted: readonly Counted[],
  quota: Quota,
): Promise<Limited> {
  const answer = await taken(quota, counted);
  if (answer === undefined) return unlimited(identified);
  const states = counted.map((one, index) => ({
    limit: one.limit,
    reading: answer.readings[index]!,
  }));
  if (!answer.granted) throw new Throttled(states);
  return grown(identified, { limits: states, release: () => answer.release() });
}

/** Undefined when nothing can be counted, and every limit is open then. */
async function taken(quota: Quota, counted: readonly Counted[]): Promise<QuotaAnswer | undefined> {
  try {
    return await quota.take(counted.map(({ ask }) => ask));
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    const closed = counted.find(({ limit: { onStoreFailure } }) => onStoreFailure === 'closed');
    if (closed === undefined) return undefined;
    throw new CatalogError(
      'ServiceUnavailable',
      `the limit ${closed.limit.name} cannot be counted now, so nothing passes it`,
    );
  }
}

function countedBy(identified: Identified, policy: PolicySnapshot): readonly Counted[] {
  const { principal, route } = identified;
  const { limits, groups } = policy.limits.on(principal, route.operation.name, route.object);
  return limits.flatMap((one) =>
    values[one.per](identified, one, groups).map((value) => ({
      limit: one,
      ask: {
        key: `${one.name}:${value}`,
        rate: one.rate,
        cost: one.cost(route.operation.name),
        concurrency: one.concurrency,
      },
    })),
  );
}

type Values = (
  identified: Identified,
  limit: Limit,
  groups: readonly string[],
) => readonly string[];

/** Whom a limit counts a request for; every value begins with its kind, so that none is like one of another. */
const values: Readonly<Record<LimitScope, Values>> = {
  subject: ({ principal }) => [principal.subject],
  group: ({ principal }, { subjects }, groups) => {
    const named = groups.filter((group) => subjects?.has(group) === true);
    const counted = named.length > 0 ? named : groups;
    // Whoever is in no group is counted alone.
    return counted.length > 0 ? counted : [principal.subject];
  },
  credential: ({ principal: { subject, credential } }) => {
    if (credential.kind === 'key') return [`key:${credential.id}`];
    // Of tokens nothing but the issuer is known: each of its subjects is counted alone.
    return credential.kind === 'token'
      ? [`token:${credential.issuer}:${subject}`]
      : [`certificate:${credential.subject}`];
  },
  address: ({ sourceIp }) => [`address:${sourceIp}`],
  network: ({ sourceIp }, { network }) => [`network:${networkOf(sourceIp, network)}`],
  operation: ({ route }) => [`operation:${route.operation.name}`],
  object: ({ route }) => [`object:${objectPath(route)}`],
  all: () => ['all'],
};
