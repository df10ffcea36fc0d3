import { setTimeout as sleep } from 'node:timers/promises';
import { beganOf } from './lines-search.ts';
import { LogTail } from './log-tail.ts';
import { isAbout, isInWindow, says, type RequestFilter } from './request-filter.ts';
import { searchRequests, type FoundRequest } from './request-search.ts';
import type { LoggedRecord } from './record.ts';
import { timeOf } from './time.ts';

/** The log is looked at again after so long, in milliseconds. */
const PAUSE_MILLIS = 250;

/**
 * The requests that a filter means, as they end, until it is told to stop. Those
 * that ended before come first if the filter says since when.
 */
export async function* followRequests(
  folder: string,
  filter: RequestFilter,
  stop: AbortSignal,
): AsyncGenerator<readonly FoundRequest[]> {
  const tail = new LogTail(folder);
  await tail.skip();
  if (filter.since !== undefined) {
    for await (const found of searchRequests(folder, filter)) {
      const before = found.filter(({ record }) => tail.has(record) && record.phase === 'outcome');
      if (before.length > 0) yield before;
    }
  }
  while (!stop.aborted) {
    for await (const record of tail.take()) {
      if (isMeant(filter, record)) yield [{ record, began: timeOf(beganOf(record)) }];
    }
    await sleep(PAUSE_MILLIS, undefined, { signal: stop }).catch(() => undefined);
  }
}

function isMeant(filter: RequestFilter, record: LoggedRecord): boolean {
  if (record.phase !== 'outcome' || !isInWindow(filter, beganOf(record))) return false;
  return isAbout(filter, record) && says(filter, record);
}
