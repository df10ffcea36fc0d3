import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer } from '../../protocol/backend.ts';
import { CatalogError, TryAgain } from '../../protocol/errors.ts';
import type { Recorded } from '../../gateway/decision/steps.ts';
import { timeOf } from '../../audit/record/time.ts';
import { filterTextOf, type FilterText } from './filter-text.ts';
import type { Trail } from './trail.ts';

/** The caller is checked again, and new requests are looked for, so often, in ms. */
const CHECK_MILLIS = 500;
const LOOK_MILLIS = 2000;
/** A follower has to come again after so long, in ms. */
export const FOLLOW_MILLIS = 600_000;
/** Followers of a process. */
const MOST_FOLLOWERS = 8;
/** A request is seen if it took less time than this, in ms. */
const SLACK_MILLIS = 60_000;
const LIMIT = 200;

interface FollowCall {
  readonly trail: Trail;
  readonly recorded: Recorded;
  readonly query: URLSearchParams;
  /** Whether the caller may still see it. */
  readonly isAllowed: () => Promise<boolean>;
}

interface Line {
  readonly decision_id: string;
  readonly began: string;
  readonly phase: string;
}

let followers = 0;

/**
 * The requests of a filter as they end, one JSON object a line, until the client leaves, the caller loses
 * the right to it, or ten minutes have passed.
 */
export function followed(call: FollowCall): Answer {
  const filter = filterTextOf(call.query, Date.now());
  if (filter.since !== undefined || filter.until !== undefined) {
    throw new CatalogError('InvalidInput', 'what is followed has neither since nor until');
  }
  if (followers >= MOST_FOLLOWERS) {
    throw new TryAgain(`${MOST_FOLLOWERS} followers are served already: search instead`, '30');
  }
  return {
    status: 200,
    contentType: 'application/x-ndjson',
    headers: { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' },
    body: linesOf(call, filter),
  };
}

async function* linesOf(call: FollowCall, filter: FilterText): AsyncGenerator<Uint8Array> {
  followers += 1;
  const signal = call.recorded.signal();
  const begun = performance.now();
  let seen = new Set<string>();
  let isFirst = true;
  try {
    // The head is sent with the first bytes.
    yield Buffer.from('\n');
    while (!signal.aborted && performance.now() - begun < FOLLOW_MILLIS) {
      const found = await look(call, filter);
      const added = found.filter(({ decision_id }) => !isFirst && !seen.has(decision_id));
      // What is out of reach of the next look need not be known any more.
      seen = new Set(found.map(({ decision_id }) => decision_id));
      isFirst = false;
      if (added.length > 0) yield Buffer.from(added.reverse().map(lineOf).join(''));
      if (!(await allowedFor(LOOK_MILLIS, call, signal))) return;
    }
  } finally {
    followers -= 1;
  }
}

async function look({ trail, recorded }: FollowCall, filter: FilterText): Promise<readonly Line[]> {
  const since = timeOf(BigInt(Date.now() - SLACK_MILLIS) * 1000n);
  const task = { kind: 'page', filter: { ...filter, since }, limit: LIMIT } as const;
  const json = await trail.run({ ...task, except: recorded.decisionId });
  const { requests } = JSON.parse(json) as { readonly requests: readonly Line[] };
  return requests.filter(({ phase }) => phase === 'outcome');
}

/** Waits, and checks the caller meanwhile. @returns Whether the caller is still allowed and there. */
async function allowedFor(
  millis: number,
  { isAllowed }: FollowCall,
  signal: AbortSignal,
): Promise<boolean> {
  for (let waited = 0; waited < millis; waited += CHECK_MILLIS) {
    await sleep(CHECK_MILLIS, undefined, { signal }).catch(() => undefined);
    if (signal.aborted || !(await isAllowed())) return false;
  }
  return true;
}

function lineOf(line: Line): string {
  return `${JSON.stringify(line)}\n`;
}
