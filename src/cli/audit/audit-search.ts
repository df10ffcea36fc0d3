import { isAbout, isInWindow, matches, type RequestFilter } from '../../audit/search/filter.ts';
import { newestRequests } from '../../audit/search/newest.ts';
import { reviewMarks, withMarks } from '../../audit/search/review-marks.ts';
import { searchRequests, type FoundRequest } from '../../audit/search/search.ts';
import { filterHint } from '../../gateway/replay/filter-hint.ts';
import { filterOf, type FilterFlags } from './audit-filter.ts';
import { formatOf, requireFormatNamed } from './audit-format.ts';
import type { Config } from '../config/config-table.ts';
import type { CopyWindow } from '../../audit/archive/archive-copies.ts';
import { bringArchive } from '../service/audit-archive.ts';
import { openedForReading } from '../service/data-folder.ts';
import type { Run } from '../output/output.ts';
import type { TableFlags } from '../output/table.ts';
import { stopSignal } from '../output/stop-signal.ts';
import { UsageError } from '../output/service-error.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { beganOf } from '../../audit/search/lines.ts';
import { LogTail } from '../../audit/search/log-tail.ts';
import type { LoggedRecord } from '../../audit/record/record.ts';
import { timeOf } from '../../audit/record/time.ts';

/** Polling interval of `--follow`, in milliseconds. */
const PAUSE_MILLIS = 250;
/** Requests that are held until the marks are read, at most. */
const HELD = 8192;
/** Polling interval of the records of other gateways, in milliseconds. */
const BRING_MILLIS = 3_000;

/**
 * The requests that a filter means, as they end, until it is stopped. Those
 * that ended before come first if the filter says since when.
 */
async function* followRequests(
  { folder, bring }: SearchedLog,
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
  for (let brought = performance.now(); !stop.aborted;) {
    if (performance.now() - brought > BRING_MILLIS) {
      await bring({ since: BigInt(Date.now()) * 1000n });
      brought = performance.now();
    }
    for await (const record of tail.take()) {
      if (isSelected(filter, record)) yield [{ record, began: timeOf(beganOf(record)) }];
    }
    await sleep(PAUSE_MILLIS, undefined, { signal: stop }).catch(() => undefined);
  }
}

function isSelected(filter: RequestFilter, record: LoggedRecord): boolean {
  if (record.phase !== 'outcome' || !isInWindow(filter, beganOf(record))) return false;
  return isAbout(filter, record) && matches(filter, record);
}

export interface SearchFlags extends FilterFlags, TableFlags {
  readonly format?: string;
  readonly json?: boolean;
  readonly follow?: boolean;
  readonly last?: string;
}

/** Does `arrowgate audit search`. @throws UsageError for flags that can mean nothing */
export async function searchAudit(config: Config, flags: SearchFlags, run: Run): Promise<void> {
  const typed = filterOf(flags);
  const name = formatName(flags);
  requireFormatNamed(name);
  const folder = await openedForReading(config);
  const bring = (window: CopyWindow): Promise<void> => bringArchive(config, folder, window, run);
  await bring(typed);
  const reading = reviewMarks(folder.audit, typed.since);
  const known = typed.review === undefined ? undefined : await reading;
  const filter = await withMarks(folder.audit, typed, known);
  const log = { folder: folder.audit, bring };
  const [marks, requests] = await Promise.all([
    reading,
    begun(found(log, filter, flags), flags, reading),
  ]);
  const { output } = run;
  const format = formatOf(name, flags, output, marks);
  await output.bytes(format.begin());
  let isEmpty = true;
  for await (const some of requests) {
    isEmpty &&= some.length === 0;
    if (!(await output.bytes(format.requests(some)))) return;
  }
  await output.bytes(format.end());
  const hint =
    isEmpty && flags.follow !== true ? await filterHint(folder.audit, filter) : undefined;
  if (hint !== undefined) output.note(hint);
}

/** A search that runs while the marks are read, which every request is shown with: both take as long. */
async function begun(
  search: AsyncGenerator<readonly FoundRequest[]>,
  { follow }: SearchFlags,
  marks: Promise<unknown>,
): Promise<AsyncIterable<readonly FoundRequest[]>> {
  if (follow === true) return search;
  const held: FoundRequest[] = [];
  const reading = { isDone: false };
  // Its failure is that of the caller, who waits for it as well.
  void marks.catch(() => undefined).finally(() => (reading.isDone = true));
  while (!reading.isDone && held.length < HELD) {
    const next = await search.next();
    if (next.done === true) break;
    held.push(...next.value);
  }
  return (async function* whole() {
    if (held.length > 0) yield held;
    yield* search;
  })();
}

interface SearchedLog {
  readonly folder: string;
  /** Brings the records of other gateways. */
  readonly bring: (window: CopyWindow) => Promise<void>;
}

function found(
  log: SearchedLog,
  filter: RequestFilter,
  flags: SearchFlags,
): AsyncGenerator<readonly FoundRequest[]> {
  const { follow } = flags;
  const last = lastOf(flags);
  if (last !== undefined) return newest(log.folder, filter, last);
  if (follow !== true) return searchRequests(log.folder, filter);
  const stop = new AbortController();
  void stopSignal().then(() => stop.abort());
  return followRequests(log, filter, stop.signal);
}

async function* newest(
  folder: string,
  filter: RequestFilter,
  limit: number,
): AsyncGenerator<readonly FoundRequest[]> {
  yield (await newestRequests(folder, filter, { limit })).requests;
}

/** Most requests that `--last` holds in memory. */
const MOST = 10_000;

/** @throws UsageError */
function lastOf({ last, follow }: SearchFlags): number | undefined {
  if (last === undefined) return undefined;
  if (follow === true)
    throw new UsageError('--last and --follow cannot be combined: leave one out');
  const count = Number(last);
  if (/^\d+$/.test(last) && count >= 1 && count <= MOST) return count;
  throw new UsageError(`--last is ${JSON.stringify(last)}, but must be a number from 1 to ${MOST}`);
}

function formatName({ format, json }: SearchFlags): string {
  if (json !== true) return format ?? 'table';
  if (format !== undefined && format !== 'json') {
    throw new UsageError(`--json and --format ${format} cannot be combined: leave one out`);
  }
  return 'json';
}
