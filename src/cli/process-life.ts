import cluster, { type Worker } from 'node:cluster';
import type { Quota } from '../store/quota.ts';
import { withGivenUmask } from './file-modes.ts';
import { HandedConnections } from './handed-connections.ts';
import { countFor } from './quota-desk.ts';

/** How a process ended. */
export interface End {
  readonly code: number | null;
  readonly signal: string | null;
  /** How long it had served; null when it never did. */
  readonly servedMillis: number | null;
  /** Why there was none: the code of the system's error. */
  readonly unborn?: string;
}

/** What a process tells the one that supervises it, once it serves: its address. */
export interface Serving {
  readonly serving: string;
  /** That of its listener for metrics and health, where there is one. */
  readonly admin?: string;
}

/** Where a process serves. */
export interface Addresses {
  readonly url: string;
  readonly admin?: string;
}

/** One of the processes that serve together, from its start to its end. */
export class ProcessLife {
  /** Resolves with the addresses once it serves; never, when it ends before. */
  readonly serving: Promise<Addresses>;
  readonly end: Promise<End>;
  /** Undefined where the system would not even begin one. */
  readonly #worker: Worker | undefined;
  #since: number | undefined;
  #abandoned = false;

  /**
   * Starts this program again with its own arguments and some more. Where the system has no
   * room for a process, it ends at once.
   * @param quota What it counts with together with the others.
   */
  constructor(flags: readonly string[], quota: Quota) {
    cluster.setupPrimary({ args: [...process.argv.slice(2), ...flags] });
    const worker = forked();
    if (worker instanceof Error) {
      this.serving = new Promise(() => undefined);
      this.end = Promise.resolve(unborn(worker));
      return;
    }
    this.#worker = worker;
    countFor(worker, quota);
    this.serving = this.#servingOf(worker);
    this.end = this.#endOf(worker);
  }

  get pid(): number | undefined {
    return this.#worker?.process.pid;
  }

  /** Whether it was ended because it is of no use. */
  get abandoned(): boolean {
    return this.#abandoned;
  }

  abandon(): void {
    this.#abandoned = true;
    this.kill('SIGKILL');
  }

  /** Sends a signal; one that has ended takes none. */
  kill(signal: NodeJS.Signals): void {
    this.#worker?.process.kill(signal);
  }

  #servingOf(worker: Worker): Promise<Addresses> {
    return new Promise((resolve) => {
      worker.on('message', ({ serving, admin }: Partial<Serving>) => {
        if (serving === undefined) return;
        this.#since ??= performance.now();
        resolve({ url: serving, ...(admin === undefined ? {} : { admin }) });
      });
    });
  }

  #endOf(worker: Worker): Promise<End> {
    // One that could not be started has no channel either.
    const handed = isBegun(worker) ? new HandedConnections(worker.process) : undefined;
    return new Promise((resolve) => {
      // What cannot be sent to one that has just died is an error, too: its end comes yet.
      worker.on('error', (error) => {
        if (!isBegun(worker)) resolve(unborn(error));
      });
      worker.once('exit', (code: number | null, signal: string | null) => {
        handed?.close();
        const servedMillis = this.#since === undefined ? null : performance.now() - this.#since;
        resolve({ code, signal, servedMillis });
      });
    });
  }
}

function forked(): Worker | Error {
  try {
    return withGivenUmask(() => cluster.fork());
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function isBegun(worker: Worker): boolean {
  return worker.process.pid !== undefined;
}

function unborn(error: Error): End {
  const code = 'code' in error ? String(error.code) : error.message;
  return { code: null, signal: null, servedMillis: null, unborn: code };
}

/** How a process ended, for a sentence. */
export function endText({ code, signal, unborn }: End): string {
  if (unborn !== undefined) return `before it began (${unborn})`;
  return signal === null ? `with code ${code}` : `by ${signal}`;
}
