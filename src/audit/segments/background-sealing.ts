import { Worker } from 'node:worker_threads';
import type { ChainHead } from '../chain/hash-chain.ts';
import { sealFinished, type SealingRun, type SealingOptions } from './sealing.ts';
import type { SealingResult, SealingTask } from './sealing-thread.ts';
import { UnfitSegment, type WrittenSegment } from './segment-file.ts';
import { setTimeout as sleep } from 'node:timers/promises';

/** A loop that has work for a larger part of the time leaves no processor to spare. */
const BUSY = 0.7;
const LOOK_MILLIS = 1_000;
/** Nothing waits longer for a calm moment. */
const MOST_MILLIS = 10 * 60_000;

/**
 * Waits for moments at which this process has time to spare. Work on a thread gives way to
 * requests, but what collects its garbage does not.
 */
export class IdleWait {
  readonly #utilization: () => number;
  readonly #lookMillis: number;
  readonly #mostMillis: number;

  /** @param utilization Returns the fraction of time that the event loop was busy since the last call. */
  constructor(
    utilization: () => number = loopUtilization(),
    lookMillis = LOOK_MILLIS,
    mostMillis = MOST_MILLIS,
  ) {
    this.#utilization = utilization;
    this.#lookMillis = lookMillis;
    this.#mostMillis = mostMillis;
  }

  /** Resolves at once if the loop was idle since the last check, or if waiting is disabled. */
  async untilIdle(signal: AbortSignal): Promise<void> {
    const end = performance.now() + this.#mostMillis;
    while (!signal.aborted && this.#utilization() > BUSY && performance.now() < end) {
      await sleep(this.#lookMillis, undefined, { signal }).catch(() => undefined);
    }
  }
}

function loopUtilization(): () => number {
  let looked = performance.eventLoopUtilization();
  return () => {
    const before = looked;
    looked = performance.eventLoopUtilization();
    return performance.eventLoopUtilization(looked, before).utilization;
  };
}

const THREAD = new URL('../../../dist/audit/segments/sealing-thread.js', import.meta.url);
/** Runs are about so far apart, in milliseconds. */
const PAUSE_MILLIS = 60_000;

export interface BackgroundSealingOptions extends Omit<SealingOptions, 'write'> {
  /** Called after each run that sealed something, or failed to. */
  readonly done: (sealed: SealingRun) => void;
  /** Called when a run could not be made, or passed over an instance. */
  readonly failed: (error: unknown) => void;
}

/** Seals finished files of the log again and again, on a thread and in calm moments, until it is stopped. */
export class BackgroundSealing {
  readonly #options: BackgroundSealingOptions;
  readonly #unfit = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #run: Promise<void> = Promise.resolve();
  readonly #calm = new IdleWait();
  readonly #stopping = new AbortController();

  constructor(options: BackgroundSealingOptions) {
    this.#options = options;
    this.#schedule();
  }

  /** Ends after the run that is in progress. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await this.#run;
  }

  #schedule(): void {
    if (this.#stopping.signal.aborted) return;
    // Processes that were started together do not seal together.
    const pause = PAUSE_MILLIS * (0.5 + Math.random());
    this.#timer = setTimeout(() => {
      this.#run = this.#seal().then(() => this.#schedule());
    }, pause).unref();
  }

  readonly #write: typeof writeOnThread = async (...segment) => {
    await this.#calm.untilIdle(this.#stopping.signal);
    return writeOnThread(...segment);
  };

  async #seal(): Promise<void> {
    try {
      const sealed = await sealFinished({ ...this.#options, write: this.#write });
      const unfit = sealed.unfit.filter((path) => !this.#unfit.has(path));
      for (const path of unfit) this.#unfit.add(path);
      for (const failure of sealed.failures) this.#options.failed(failure);
      if (sealed.sealed + sealed.retired + unfit.length > 0)
        this.#options.done({ ...sealed, unfit });
    } catch (error) {
      this.#options.failed(error);
    }
  }
}

/** `writeSegment` on a thread of its own. */
export async function writeOnThread(
  lines: string,
  path: string,
  before: ChainHead,
): Promise<WrittenSegment> {
  const workerData: SealingTask = { lines, path, before };
  const worker = new Worker(THREAD, { workerData, stderr: true });
  // What Node says in a thread becomes a warning of the process, which its log has.
  worker.stderr.on('data', (text: Buffer) => process.emitWarning(String(text).trim()));
  const result = await new Promise<SealingResult>((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', (code) => reject(new Error(`the sealing thread ended with ${code}`)));
  });
  if (result.kind === 'unfit') throw new UnfitSegment(result.why);
  return result.segment;
}
