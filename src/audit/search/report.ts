import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { logStorage } from '../chain/log-files.ts';
import { microsOf } from '../record/time.ts';
import { logPartsOf, type LogPart } from '../segments/log-part.ts';
import type { RequestFilter } from './filter.ts';
import {
  countPart,
  JoinedCounts,
  type CountedPart,
  type KeyCounts,
  type ReportKey,
  type RequestCounts,
} from './request-counts.ts';

const THREAD = new URL('../../../dist/audit/search/report-thread.js', import.meta.url);
/** Bytes of lines from which on they are counted on threads. */
const THREADED_BYTES = 512 * 2 ** 20;
/** Maximum number of threads, and of parts that each has before it. */
const MOST_THREADS = 4;
const AHEAD = 2;

/**
 * Counts the requests of a window by a key, largest counts first.
 * @param progress Called with the number of records read.
 * @param threadedBytes Lines of more bytes are counted on threads.
 */
export async function reportRequests(
  folder: string,
  by: ReportKey,
  window: Pick<RequestFilter, 'since' | 'until'>,
  progress: (records: number) => void = () => undefined,
  threadedBytes: number = THREADED_BYTES,
): Promise<readonly RequestCounts[]> {
  const parts = (await logPartsOf(folder)).filter((part) => mayHold(part, window));
  const wanted = parts.map((part) => ({ part, by, window }));
  let records = 0;
  const add = (more: number): void => progress((records += more));
  const joined = new JoinedCounts();
  if (lineBytes(parts) > threadedBytes) await countOnThreads(wanted, joined, add);
  else for (const part of wanted) joined.add(await countPart(part, add));
  return joined.sorted();
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
