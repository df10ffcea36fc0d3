import { wholeSeconds, type LimitState, type NamedLimit } from './throttled.ts';

/**
 * The fields `RateLimit` and `RateLimit-Policy` as lists of structured fields (RFC 9651),
 * an item for each limit (draft-ietf-httpapi-ratelimit-headers). A rate has as quota (`q`) its burst and as
 * window (`w`) the seconds in which that comes back; what may run at once is a policy of
 * its own, with the unit of the draft. `r` is what is left, `t` the seconds until all is.
 */
export function rateLimitHeaders(states: readonly LimitState[]): RateLimitHeaders | undefined {
  if (states.length === 0) return undefined;
  const tightest = tightestOf(states);
  let left = leftOf(tightest[0]!);
  let policy = policyOf(tightest[0]!.limit);
  for (let index = 1; index < tightest.length; index += 1) {
    left += `, ${leftOf(tightest[index]!)}`;
    policy += `, ${policyOf(tightest[index]!.limit)}`;
  }
  return { ratelimit: left, 'ratelimit-policy': policy };
}

interface RateLimitHeaders {
  readonly ratelimit: string;
  readonly 'ratelimit-policy': string;
}

/** A caller of several groups is counted several times by one limit: the one that leaves least counts. */
function tightestOf(states: readonly LimitState[]): readonly LimitState[] {
  const found: LimitState[] = [];
  for (const state of states) {
    const at = found.findIndex(({ limit }) => limit.name === state.limit.name);
    if (at < 0) found.push(state);
    else if (rank(state) < rank(found[at]!)) found[at] = state;
  }
  return found;
}

function rank({ reading }: LimitState): number {
  return Math.min(reading.left ?? Infinity, reading.slotsLeft ?? Infinity);
}

function leftOf({ limit, reading }: LimitState): string {
  const slots =
    reading.slotsLeft === null ? '' : `"${slotsName(limit.name)}";r=${reading.slotsLeft}`;
  if (reading.left === null) return slots;
  const rate = `"${limit.name}";r=${reading.left};t=${wholeSeconds(reading.fullMicros)}`;
  return slots === '' ? rate : `${rate}, ${slots}`;
}

const policies = new WeakMap<NamedLimit, string>();

/** The part of the headers that depends on the limit alone. */
function policyOf(limit: NamedLimit): string {
  let policy = policies.get(limit);
  if (policy === undefined) policies.set(limit, (policy = policyText(limit)));
  return policy;
}

function policyText({ rate, concurrency, name }: NamedLimit): string {
  const window = rate === null ? 0 : wholeSeconds(rate.intervalMicros * rate.burst);
  return [
    ...(rate === null ? [] : [`"${name}";q=${rate.burst};w=${Math.max(1, window)}`]),
    ...(concurrency === null
      ? []
      : [`"${slotsName(name)}";q=${concurrency};qu="concurrent-requests"`]),
  ].join(', ');
}

function slotsName(name: string): string {
  return `${name}:concurrency`;
}
