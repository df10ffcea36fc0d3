import cluster, { type Worker } from 'node:cluster';
import type { Quota } from '../store/quota.ts';
import { HandedConnections } from './handed-connections.ts';
import { countFor } from './quota-desk.ts';

/** How a process ended. */
export interface End {
  readonly code: number | null;
  readonly signal: string | null;
  /** How long it had served; null when it never did. */
  readonly servedMillis: number | null;
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
  readonly #worker: Worker;
  #since: number | undefined;
  #abandoned = false;

  /**
   * Starts this program again with its own arguments and some more.
   * @param quota What it counts with together with the others.
   */
  constructor(flags: readonly string[], quota: Quota) {
    cluster.setupPrimary({ args: [...process.argv.slice(2), ...flags] });
    this.#worker = cluster.fork();
    countFor(this.#worker, quota);
    const handed = new HandedConnections(this.#worker.process);
    this.serving = new Promise((resolve) => {
      this.#worker.on('message', (message: Partial<Serving>) => {
        if (message.serving === undefined) return;
        this.#since ??= performance.now();
        resolve({
          url: message.serving,
          ...(message.admin === undefined ? {} : { admin: message.admin }),
        });
      });
    });
    this.end = new Promise((resolve) => {
      this.#worker.once('exit', (code: number | null, signal: string | null) => {
        handed.close();
        const servedMillis = this.#since === undefined ? null : performance.now() - this.#since;
        resolve({ code, signal, servedMillis });
      });
    });
  }

  get pid(): number | undefined {
    return this.#worker.process.pid;
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
    this.#worker.process.kill(signal);
  }
}

/** How a process ended, for a sentence. */
export function endText({ code, signal }: End): string {
  return signal === null ? `with code ${code}` : `by ${signal}`;
}
