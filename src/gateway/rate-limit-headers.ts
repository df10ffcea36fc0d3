import { wholeSeconds, type LimitState } from './limit-state.ts';

/**
 * The fields `RateLimit` and `RateLimit-Policy` as lists of structured fields (RFC 9651),
 * an item for each limit (draft-ietf-httpapi-ratelimit-headers). A rate has as quota (`q`) its burst and as
 * window (`w`) the seconds in which that comes back; what may run at once is a policy of
 * its own, with the unit of the draft. `r` is what is left, `t` the seconds until all is.
 */
export function rateLimitHeaders(states: readonly LimitState[]): Readonly<Record<string, string>> {
  if (states.length === 0) return {};
  const tightest = [...tightestOf(states).values()];
  return {
    ratelimit: tightest.flatMap(leftOf).join(', '),
    'ratelimit-policy': tightest.flatMap(policyOf).join(', '),
  };
}

/** A caller of several groups is counted several times by one limit: the one that leaves least counts. */
function tightestOf(states: readonly LimitState[]): ReadonlyMap<string, LimitState> {
  const found = new Map<string, LimitState>();
  for (const state of states) {
    const other = found.get(state.limit.name);
    if (other === undefined || rank(state) < rank(other)) found.set(state.limit.name, state);
  }
  return found;
}

function rank({ reading }: LimitState): number {
  return Math.min(reading.left ?? Infinity, reading.slotsLeft ?? Infinity);
}

function leftOf({ limit, reading }: LimitState): readonly string[] {
  const rate =
    reading.left === null
      ? []
      : [`"${limit.name}";r=${reading.left};t=${wholeSeconds(reading.fullMicros)}`];
  const slots =
    reading.slotsLeft === null ? [] : [`"${slotsName(limit.name)}";r=${reading.slotsLeft}`];
  return [...rate, ...slots];
}

function policyOf({ limit }: LimitState): readonly string[] {
  const { rate, concurrency, name } = limit;
  const window = rate === null ? 0 : wholeSeconds(rate.intervalMicros * rate.burst);
  return [
    ...(rate === null ? [] : [`"${name}";q=${rate.burst};w=${Math.max(1, window)}`]),
    ...(concurrency === null
      ? []
      : [`"${slotsName(name)}";q=${concurrency};qu="concurrent-requests"`]),
  ];
}

function slotsName(name: string): string {
  return `${name}:concurrency`;
}
