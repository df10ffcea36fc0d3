import cluster from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { endText, ProcessLife, type Addresses, type End } from './process-life.ts';
import { MemoryQuota } from '../../store/embedded/memory-quota.ts';
import { SharedCounters } from './shared-counters.ts';
import { ServiceError } from '../output/service-error.ts';

/** A process that served for less than this, in ms, counts as a quick exit. */
const QUICK_MILLIS = 1000;
/** This many consecutive quick exits end the service, if every process has had two. */
const QUICK_ENDS = 5;
/** How long the next process waits after a quick end: twice as long after each. */
const FIRST_PAUSE_MILLIS = 100;
const LONGEST_PAUSE_MILLIS = 3000;
/** Time beyond the drain that a process has for its end, in ms. */
export const PROCESS_END_MILLIS = 15_000;

interface SupervisorOptions {
  /** How many processes serve. */
  readonly processes: number;
  readonly log: Logger;
  /** How long a process may drain after SIGTERM, in ms. */
  readonly drainMillis: number;
  /** A process that does not answer for this long is replaced, in ms; null: never. */
  readonly silenceMillis: number | null;
}

/**
 * Starts processes that serve together behind one port, and others in place of
 * those that die. It has no engine of its own and reads nothing of a
 * connection, but hands each on to the next process that is free.
 */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #stopping = new AbortController();
  readonly #lives = new Set<ProcessLife>();
  /** Counters of limits for all processes, if Redis is not used. */
  readonly #counters = new SharedCounters(new MemoryQuota());
  #slots: readonly Promise<void>[] = [];
  #addresses: Addresses = { url: '' };
  /** Flags that keep the port, once the system would give another. */
  #portFlags: readonly string[] = [];
  #quickEnds = 0;
  #failure: ServiceError | undefined;
  #code: 0 | 2 = 0;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    // In turn: left to the system, a burst of connections that stay may all go to one process.
    cluster.schedulingPolicy = cluster.SCHED_RR;
  }

  /**
   * Resolves with the addresses when all processes serve, or undefined when they
   * were stopped before, or the first could not serve.
   * @throws ServiceError when a signal ended the first process; otherwise the process has logged the reason itself.
   */
  async start(): Promise<Addresses | undefined> {
    // The first process starts alone: it creates missing files and reports errors once.
    const first = this.#begin();
    const begun = await Promise.race([first.serving, first.end]);
    if (!('url' in begun)) return this.#notBegun(begun);
    this.#addresses = begun;
    const more = this.#stopping.signal.aborted ? 0 : this.#options.processes - 1;
    const others = Array.from({ length: more }, () => this.#begin());
    const slots = [first, ...others].map((life) => this.#slot(life));
    this.#slots = slots.map(({ ended }) => ended);
    await Promise.race([Promise.all(slots.map(({ up }) => up)), Promise.all(this.#slots)]);
    return this.#stopping.signal.aborted ? undefined : this.#addresses;
  }

  /** Lets every process finish its requests. A second call ends them at once. */
  stop(): void {
    const signal = this.#stopping.signal.aborted ? 'SIGKILL' : 'SIGTERM';
    this.#stopping.abort();
    for (const life of this.#lives) life.kill(signal);
    setTimeout(() => this.stop(), this.#options.drainMillis + PROCESS_END_MILLIS).unref();
  }

  /**
   * Resolves with the exit code when every process has ended: 0 after a stop, 2 when none came to serve.
   * @throws ServiceError when the service ended by itself, or a process could not finish.
   */
  async ended(): Promise<0 | 2> {
    await Promise.all(this.#slots);
    if (this.#failure !== undefined) throw this.#failure;
    return this.#code;
  }

  #begin(): ProcessLife {
    const life = new ProcessLife(this.#portFlags, this.#counters);
    this.#lives.add(life);
    const { silenceMillis, log } = this.#options;
    if (silenceMillis !== null) {
      life.watch(silenceMillis, () =>
        log.error(
          { process: life.pid, silenceMillis },
          'a process does not answer; it is killed (supervision.timeout)',
        ),
      );
    }
    void life.end.then(() => this.#lives.delete(life));
    return life;
  }

  #notBegun(end: End): undefined {
    if (this.#stopping.signal.aborted) return;
    if (end.code === null) {
      throw new ServiceError(`the first process of the service ended ${endText(end)}`);
    }
    this.#code = 2;
  }

  /** The place of one process and of those that come after it. */
  #slot(first: ProcessLife): { readonly up: Promise<void>; readonly ended: Promise<void> } {
    let isUp: () => void = () => undefined;
    const up = new Promise<void>((resolve) => {
      isUp = resolve;
    });
    return { up, ended: this.#keep(first, isUp) };
  }

  async #keep(first: ProcessLife, isUp: () => void): Promise<void> {
    for (let life = first; ; life = this.#begin()) {
      void life.serving.then(({ url }) =>
        url === this.#addresses.url ? isUp() : this.#misplaced(life),
      );
      const end = await life.end;
      if (this.#stopping.signal.aborted) return this.#last(life, end);
      if (end.unborn === undefined) {
        this.#options.log.error({ ended: life.pid, ...end }, 'a process ended; another is started');
      } else {
        this.#options.log.error({ why: end.unborn }, 'a process cannot be started; tried again');
      }
      if (!life.abandoned) await this.#pause(end);
      if (this.#stopping.signal.aborted) return;
    }
  }

  /** All others had died, so that their port was closed, and the system chose another. */
  #misplaced(life: ProcessLife): void {
    this.#portFlags = ['--port', new URL(this.#addresses.url).port];
    life.abandon();
  }

  #last(life: ProcessLife, end: End): void {
    // SIGTERM ends only a process without a listener: one that is starting, or one that has already shut down.
    if (end.code === 0 || end.signal === 'SIGTERM' || life.abandoned) return;
    const sentence = `the process ${life.pid} did not finish: it ended ${endText(end)}`;
    this.#failure ??= new ServiceError(sentence);
  }

  async #pause(end: End): Promise<void> {
    // The others continue, and the system may have room for another soon.
    if (end.unborn !== undefined) return this.#sleep(LONGEST_PAUSE_MILLIS);
    if (end.servedMillis !== null && end.servedMillis >= QUICK_MILLIS) this.#quickEnds = 0;
    else this.#quickEnds++;
    if (this.#quickEnds === 0) return;
    if (this.#quickEnds >= Math.max(QUICK_ENDS, 2 * this.#options.processes)) this.#giveUp(end);
    await this.#sleep(
      Math.min(FIRST_PAUSE_MILLIS * 2 ** (this.#quickEnds - 1), LONGEST_PAUSE_MILLIS),
    );
  }

  async #sleep(millis: number): Promise<void> {
    await sleep(millis, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
  }

  #giveUp(end: End): void {
    if (this.#stopping.signal.aborted) return;
    this.#failure = new ServiceError(
      `${this.#quickEnds} processes in a row ended before they had served for a second, the last ${endText(end)}`,
    );
    this.stop();
  }
}
