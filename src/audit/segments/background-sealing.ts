import { ModuleThread } from '../../protocol/thread-run.ts';
import type { ChainHead } from '../chain/hash-chain.ts';
import { sealFinished, type SealingRun, type SealingOptions } from './sealing.ts';
import type { SealingResult, SealingTask } from './sealing-thread.ts';
import { UnfitSegment, type WrittenSegment } from './segment-file.ts';
import { setTimeout as sleep } from 'node:timers/promises';

/** Utilization of the event loop above which the process counts as busy. */
const BUSY = 0.7;
/** Interval of the checks, in ms. */
const CHECK_MILLIS = 1_000;
/** Maximum wait for an idle moment, in ms, if no further file waits. */
const MOST_MILLIS = 10 * 60_000;
/** Each further file that waits divides the maximum wait by this. */
const HASTE = 4;

/**
 * Waits until the event loop of this process is idle. A thread with a lower priority gives way
 * to requests, but its garbage collector does not.
 */
export class IdleWait {
  readonly #utilization: () => number;
  readonly #checkMillis: number;
  readonly #mostMillis: number;

  /** @param utilization Returns the fraction of time that the event loop was busy since the last call. */
  constructor(
    utilization: () => number = loopUtilization(),
    checkMillis = CHECK_MILLIS,
    mostMillis = MOST_MILLIS,
  ) {
    this.#utilization = utilization;
    this.#checkMillis = checkMillis;
    this.#mostMillis = mostMillis;
  }

  /**
   * Resolves at once if the event loop was idle since the last check.
   * @param waiting Number of further files that wait: with each of them the maximum wait is shorter.
   */
  async untilIdle(signal: AbortSignal, waiting = 0): Promise<void> {
    const end = performance.now() + this.#mostMillis / HASTE ** waiting;
    while (!signal.aborted && this.#utilization() > BUSY && performance.now() < end) {
      await sleep(this.#checkMillis, undefined, { signal }).catch(() => undefined);
    }
  }
}

function loopUtilization(): () => number {
  let last = performance.eventLoopUtilization();
  return () => {
    const before = last;
    last = performance.eventLoopUtilization();
    return performance.eventLoopUtilization(last, before).utilization;
  };
}

const THREAD = new URL('../../../dist/audit/segments/sealing-thread.js', import.meta.url);
/** Mean interval of the runs, in ms. */
const PAUSE_MILLIS = 60_000;
/** The same after a run that sealed `MANY_FILES` or more: others were probably finished meanwhile. */
const SHORT_PAUSE_MILLIS = 1_000;
const MANY_FILES = 4;

export interface BackgroundSealingOptions extends Omit<SealingOptions, 'write'> {
  /** Called after each run that sealed, removed or could not seal a file. */
  readonly done: (sealed: SealingRun) => void;
  /** Called when a run failed, or skipped an instance. */
  readonly failed: (error: unknown) => void;
}

/** Seals finished files of the log at intervals, on a thread and when the process is idle, until it is stopped. */
export class BackgroundSealing {
  readonly #options: BackgroundSealingOptions;
  readonly #unfit = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #run: Promise<void> = Promise.resolve();
  #pauseMillis = PAUSE_MILLIS;
  readonly #idle = new IdleWait();
  readonly #stopping = new AbortController();

  constructor(options: BackgroundSealingOptions) {
    this.#options = options;
    this.#schedule();
  }

  /** Resolves after the run in progress. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await this.#run;
  }

  #schedule(): void {
    if (this.#stopping.signal.aborted) return;
    // Processes that start together should not seal at the same time.
    const pause = this.#pauseMillis * (0.5 + Math.random());
    this.#timer = setTimeout(() => {
      this.#run = this.#seal().then(() => this.#schedule());
    }, pause).unref();
  }

  async #seal(): Promise<void> {
    const thread = new SealingThread();
    try {
      const write: SealingOptions['write'] = async (...segment) => {
        const [, , , waiting] = segment;
        await this.#idle.untilIdle(this.#stopping.signal, waiting);
        return thread.write(...segment);
      };
      const sealed = await sealFinished({ ...this.#options, write });
      this.#pauseMillis = sealed.sealed < MANY_FILES ? PAUSE_MILLIS : SHORT_PAUSE_MILLIS;
      const unfit = sealed.unfit.filter((path) => !this.#unfit.has(path));
      for (const path of unfit) this.#unfit.add(path);
      for (const failure of sealed.failures) this.#options.failed(failure);
      if (sealed.sealed + sealed.retired + unfit.length > 0)
        this.#options.done({ ...sealed, unfit });
    } catch (error) {
      this.#options.failed(error);
    } finally {
      await thread.end();
    }
  }
}

/** A thread that writes the segments of a run, one after the other: its code is compiled for the first one. */
export class SealingThread {
  #thread: ModuleThread | undefined;

  /**
   * `writeSegment` on the thread, which begins with the first segment, and again after a failure.
   * @param waiting Number of further files that wait: with each of them the priority is higher.
   */
  readonly write = async (
    lines: string,
    path: string,
    before: ChainHead,
    waiting = 0,
  ): Promise<WrittenSegment> => {
    const task: SealingTask = { lines, path, before, waiting };
    this.#thread ??= new ModuleThread({ module: THREAD, name: 'the sealing thread' });
    try {
      const result = await this.#thread.ask<SealingResult>(task);
      if (result.kind === 'written') return result.segment;
      throw new UnfitSegment(result.why);
    } catch (error) {
      if (!(error instanceof UnfitSegment)) await this.end();
      throw error;
    }
  };

  async end(): Promise<void> {
    const thread = this.#thread;
    this.#thread = undefined;
    await thread?.end();
  }
}
