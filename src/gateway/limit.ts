import { costOf, type Limit, type LimitScope } from '../policy/settings/limit.ts';
import type { LimitsOn } from '../policy/settings/limit-book.ts';
import type { PolicySnapshot } from '../policy/decide/snapshot.ts';
import { smallestOf, type BudgetLimits } from '../protocol/budget.ts';
import { CatalogError } from '../protocol/errors.ts';
import { StoreError } from '../store/store-error.ts';
import type { Quota, QuotaAnswer, QuotaCharge } from '../store/quota.ts';
import type { Gateway } from './gateway.ts';
import { objectPath } from './decision/known-route.ts';
import { networkOf } from './http/networks.ts';
import { advance } from './passage.ts';
import type { Identified, Limited } from './decision/steps.ts';
import { Throttled, type LimitState } from './decision/throttled.ts';

/** The counters of a request: what each has to grant, and its limit. */
interface Counted {
  readonly limits: readonly Limit[];
  readonly charges: readonly QuotaCharge[];
  /** Budget by the limits; undefined if none sets one. */
  readonly budget: Partial<BudgetLimits> | undefined;
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
  { quota, budget }: Pick<Gateway, 'quota' | 'budget'>,
): Limited | Promise<Limited> {
  if (policy.limits.limits.length === 0) return unlimited(identified, budget);
  const counted = countedBy(identified, policy);
  const own = counted.budget === undefined ? budget : { ...budget, ...counted.budget };
  return counted.charges.length === 0
    ? unlimited(identified, own)
    : within(advance(identified, { budget: own }), counted, quota);
}

const none: readonly LimitState[] = [];

function unlimited(identified: Identified, budget: BudgetLimits): Limited {
  return advance(identified, { limits: none, budget, release: nothing });
}

/** A request whose budget is chosen. */
type Budgeted = Identified & Pick<Limited, 'budget'>;

function within(identified: Budgeted, counted: Counted, quota: Quota): Limited | Promise<Limited> {
  const answer = quota.take(counted.charges);
  return answer instanceof Promise
    ? awaited(identified, counted, answer)
    : judged(identified, counted, answer);
}

async function awaited(
  identified: Budgeted,
  counted: Counted,
  answer: Promise<QuotaAnswer>,
): Promise<Limited> {
  const taken = await answer.catch((error: unknown) => uncounted(counted, error));
  return taken === undefined
    ? unlimited(identified, identified.budget)
    : judged(identified, counted, taken);
}

function judged(identified: Budgeted, { limits }: Counted, answer: QuotaAnswer): Limited {
  const states = answer.readings.map((reading, index) => ({ limit: limits[index]!, reading }));
  if (!answer.granted) throw new Throttled(states);
  return advance(identified, { limits: states, release: answer.release });
}

/** Undefined when nothing can be counted, and every limit is open then. */
function uncounted({ limits }: Counted, error: unknown): undefined {
  if (!(error instanceof StoreError)) throw error;
  const closed = limits.find(({ onStoreFailure }) => onStoreFailure === 'closed');
  if (closed === undefined) return undefined;
  throw new CatalogError(
    'ServiceUnavailable',
    `the limit ${closed.name} cannot be checked now, so its requests are refused`,
  );
}

/** Of answers that are given again for the same callers and operations: what is counted, where nothing else of a request matters. */
const fixed = new WeakMap<LimitsOn, Counted>();

function countedBy(identified: Identified, policy: PolicySnapshot): Counted {
  const { principal, route } = identified;
  const on = policy.limits.on(principal, route.operation.name, route.object);
  const cached = fixed.get(on);
  if (cached !== undefined) return cached;
  const counted = countedOn(identified, on);
  if (on.isKept && on.limits.every(({ per }) => fixedScopes.has(per))) fixed.set(on, counted);
  return counted;
}

/** Scopes whose values follow from the names of the caller and the operation. */
const fixedScopes: ReadonlySet<LimitScope> = new Set<LimitScope>([
  'subject',
  'group',
  'operation',
  'all',
]);

function countedOn(identified: Identified, { limits, groups }: LimitsOn): Counted {
  const { name } = identified.route.operation;
  const counted: Limit[] = [];
  const charges: QuotaCharge[] = [];
  for (const one of limits) {
    if (one.rate === null && one.concurrency === null) continue;
    for (const value of values[one.per](identified, one, groups)) {
      const { rate, concurrency } = one;
      counted.push(one);
      charges.push({ key: `${one.name}:${value}`, rate, cost: costOf(one, name), concurrency });
    }
  }
  return { limits: counted, charges, budget: budgetOf(limits) };
}

/** The smallest of the limits that say something of a budget. */
function budgetOf(limits: readonly Limit[]): Partial<BudgetLimits> | undefined {
  const said = limits.flatMap(({ budget }) => (budget === null ? [] : [budget]));
  return said.length === 0 ? undefined : smallestOf(said);
}

type Values = (
  identified: Identified,
  limit: Limit,
  groups: readonly string[],
) => readonly string[];

/** The counters of a request by scope. Each value begins with its kind, so that no two kinds collide. */
const values: Readonly<Record<LimitScope, Values>> = {
  subject: ({ principal }) => [principal.subject],
  group: ({ principal }, { subjects }, groups) => {
    const named = groups.filter((group) => subjects?.has(group) === true);
    const counted = named.length > 0 ? named : groups;
    // A subject without groups is counted alone.
    return counted.length > 0 ? counted : [principal.subject];
  },
  credential: ({ principal: { subject, credential } }) => {
    if (credential.kind === 'key') return [`key:${credential.id}`];
    if (credential.kind === 'host') return [`host:${subject}`];
    // A token has no id: each subject of an issuer is counted alone.
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
