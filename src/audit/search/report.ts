import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { logStorage } from '../chain/log-files.ts';
import { errorTable } from '../../protocol/errors.ts';
import type { LoggedRecord } from '../record/record.ts';
import { microsOf } from '../record/time.ts';
import { logPartsOf, type LogPart } from '../segments/log-part.ts';
import type { RequestFilter } from './filter.ts';
import { withMarks } from './review-marks.ts';
import { searchRequests, type FoundRequest } from './search.ts';
import {
  countPart,
  FoundCounts,
  JoinedCounts,
  type CountedField,
  type CountedPart,
  type FoundKey,
  type KeyCounts,
  type RequestCounts,
} from './request-counts.ts';

const THREAD = new URL('../../../dist/audit/search/report-thread.js', import.meta.url);
/** Bytes of lines from which on they are counted on threads. */
const THREADED_BYTES = 512 * 2 ** 20;
/** Maximum number of threads, and of parts that each has before it. */
const MOST_THREADS = 4;
const AHEAD = 2;

/** The grouping of a report. */
export const reportKeys = [
  'subject',
  'object',
  'operation',
  'rule',
  'backend',
  'credential',
  'day',
  'decision',
  'reason',
  'address',
  'restriction',
] as const;

export type ReportKey = (typeof reportKeys)[number];

type Count = (records: number) => void;

/**
 * Counts the requests of a filter by a key, largest counts first. Records are not decoded if the
 * key is a field and the filter has nothing but a window.
 * @param dayOf The day of an arrival, for the key `day`.
 * @param progress Called with the number of records read, or of requests found.
 */
export async function reportFound(
  folder: string,
  by: ReportKey,
  filter: RequestFilter,
  dayOf: (began: string) => string,
  progress: Count = () => undefined,
): Promise<readonly RequestCounts[]> {
  const { since: _since, until: _until, ...criteria } = filter;
  const field = fields[by];
  if (field !== undefined && Object.keys(criteria).length === 0) {
    return reportRequests(folder, field, filter, progress);
  }
  const read = by === 'day' ? ({ began }: FoundRequest) => dayOf(began) : keyReaders[by];
  const counts = new FoundCounts(read);
  let requests = 0;
  for await (const found of searchRequests(folder, await withMarks(folder, filter))) {
    counts.add(found);
    progress((requests += found.length));
  }
  const joined = new JoinedCounts();
  joined.add(counts.counts);
  return joined.sorted();
}

/** The field of a record that has a key as it is. */
const fields: Partial<Record<ReportKey, CountedField>> = {
  subject: 'subject',
  object: 'object',
  operation: 'operation',
  rule: 'rule',
  backend: 'backend',
  credential: 'credential',
  address: 'source_ip',
};

const keyReaders: Readonly<Record<Exclude<ReportKey, 'day'>, (found: FoundRequest) => FoundKey>> = {
  subject: ({ record }) => record.subject,
  object: ({ record }) => record.object,
  operation: ({ record }) => record.operation,
  rule: ({ record }) => record.rule,
  backend: ({ record }) => record.backend,
  credential: ({ record }) => record.credential,
  address: ({ record }) => record.source_ip,
  decision: ({ record }) => record.decision,
  reason: ({ record }) => reasonOf(record),
  restriction: ({ record: { restrictions } }) => (restrictions.length === 0 ? null : restrictions),
};

/** Why a request was refused; null if it was not. */
export function reasonOf({ decision, rule, code }: LoggedRecord): string | null {
  if (decision === 'deny') return rule === null ? 'no line allows it' : 'a line denies it';
  const row = errorTable.find((each) => each.code === code);
  return row === undefined ? null : row.name;
}

/**
 * Counts the requests of a window by a field.
 * @param threadedBytes Lines of more bytes are counted on threads.
 */
export async function reportRequests(
  folder: string,
  by: CountedField,
  window: Pick<RequestFilter, 'since' | 'until'>,
  progress: Count = () => undefined,
  threadedBytes: number = THREADED_BYTES,
): Promise<readonly RequestCounts[]> {
  const parts = (await logPartsOf(folder)).filter((part) => mayHold(part, window));
  const { since, until } = window;
  const wanted = parts.map((part) => ({ part, by, window: bounds(since, until) }));
  let records = 0;
  const add = (more: number): void => progress((records += more));
  const joined = new JoinedCounts();
  if (lineBytes(parts) > threadedBytes) await countOnThreads(wanted, joined, add);
  else for (const part of wanted) joined.add(await countPart(part, add));
  return joined.sorted();
}

/** Plain data, which moves to threads. */
function bounds(since: bigint | undefined, until: bigint | undefined): CountedPart['window'] {
  return { ...(since === undefined ? {} : { since }), ...(until === undefined ? {} : { until }) };
}

function lineBytes(parts: readonly LogPart[]): number {
  return parts.reduce((sum, { file, seal }) => {
    const bytes = seal === undefined ? logStorage.stat(file.path)?.bytes : undefined;
    return sum + (bytes ?? 0);
  }, 0);
}

async function countOnThreads(
  wanted: readonly CountedPart[],
  joined: JoinedCounts,
  progress: (records: number) => void,
): Promise<void> {
  const count = Math.min(MOST_THREADS, availableParallelism(), wanted.length);
  const threads = Array.from({ length: count }, () => new CountingThread());
  const counted: ThreadCounts['counts'][] = [];
  let [next, isOver] = [0, false];
  const lanes = Array.from({ length: count * AHEAD }, async (_, lane) => {
    for (let at = lane; at < wanted.length; at += count * AHEAD) {
      const result = await threads[at % count]!.count(wanted[at]!);
      if (isOver) return;
      // A part that a thread could not count is counted here, or is an error of this thread.
      counted[at] = result?.counts ?? (await countPart(wanted[at]!));
      for (; counted[next] !== undefined; counted[next++] = []) joined.add(counted[next]!);
      progress(result?.records ?? 0);
    }
  });
  try {
    await Promise.all(lanes);
  } finally {
    isOver = true;
    await Promise.all(threads.map((thread) => thread.close()));
  }
}

/** The answer of a thread. */
export interface ThreadCounts {
  readonly counts: readonly KeyCounts[];
  readonly records: number;
}

/** A thread that counts parts, one after the other. */
class CountingThread {
  readonly #worker = new Worker(THREAD, { stderr: true });
  readonly #waiting: ((counts: ThreadCounts | undefined) => void)[] = [];
  #ended = false;

  constructor() {
    this.#worker.on('message', (counts: ThreadCounts | undefined) =>
      this.#waiting.shift()?.(counts),
    );
    this.#worker.on('error', () => this.#end());
    this.#worker.on('exit', () => this.#end());
  }

  /** Resolves without counts if the thread could not count the part. */
  count(part: CountedPart): Promise<ThreadCounts | undefined> {
    if (this.#ended) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#worker.postMessage(part, []);
    });
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  #end(): void {
    this.#ended = true;
    for (const resolve of this.#waiting.splice(0)) resolve(undefined);
  }
}

/** Whether a part may hold records of the window. An outcome is never older than its request. */
function mayHold({ seal }: LogPart, { since }: Pick<RequestFilter, 'since'>): boolean {
  return seal === undefined || since === undefined || microsOf(seal.to) >= since;
}
