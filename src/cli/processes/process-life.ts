import cluster from 'node:cluster';
import type { Worker } from 'node:cluster';
import { withGivenUmask } from '../config/file-modes.ts';
import type { ChildProcess } from 'node:child_process';
import { watchHeartbeats } from './heartbeat.ts';
import type { QuotaRequests, SharedCounters } from './shared-counters.ts';

/** A connection of the system, as `cluster` hands it on. */
interface Handle {
  /** -1 once it is closed. */
  readonly fd: number;
  close(): void;
}

/** Number of entries that are checked for closed ones at a time. */
const SWEEP = 64;

/**
 * The connections that were handed on to a process and that it may not have
 * taken yet. `cluster` keeps its own end of such a connection until the process
 * says that it has it; if that process dies before, no process would close it, and
 * its client would wait for ever.
 */
export class HandedConnections {
  #handles: Handle[] = [];
  #isOver = false;

  /** @param child The process; messages to it are counted from now on. */
  constructor(child: ChildProcess) {
    const send = child.send.bind(child);
    child.send = (...sent: readonly unknown[]): boolean => {
      this.#note(sent[1]);
      return Reflect.apply(send, child, sent) === true;
    };
  }

  /** Closes those that were not taken, and all that follow: their clients learn that they must come again. */
  close(): void {
    this.#isOver = true;
    for (const handle of this.#handles) if (handle.fd !== -1) handle.close();
    this.#handles = [];
  }

  #note(handle: unknown): void {
    if (!isHandle(handle)) return;
    // `cluster` hands on to a process that has ended until it finds its channel closed, too.
    if (this.#isOver) setImmediate(() => this.close());
    this.#handles.push(handle);
    if (this.#handles.length >= SWEEP) this.#handles = this.#handles.filter(({ fd }) => fd !== -1);
  }
}

function isHandle(value: unknown): value is Handle {
  return typeof value === 'object' && value !== null && 'fd' in value && 'close' in value;
}

/** Exit of a process. */
export interface End {
  readonly code: number | null;
  readonly signal: string | null;
  /** How long it had served; null when it never did. */
  readonly servedMillis: number | null;
  /** Why there was none: the code of the system's error. */
  readonly unborn?: string;
}

/** The message of a process to its supervisor once it serves: its address. */
export interface Serving {
  readonly serving: string;
  /** URL of its listener for metrics and health, if configured. */
  readonly admin?: string;
}

/** Addresses of a process. */
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
   * @param counters Counters shared by all processes.
   */
  constructor(flags: readonly string[], counters: SharedCounters) {
    cluster.setupPrimary({ args: [...process.argv.slice(2), ...flags] });
    const worker = forked();
    if (worker instanceof Error) {
      this.serving = new Promise(() => undefined);
      this.end = Promise.resolve(unborn(worker));
      return;
    }
    this.#worker = worker;
    countFor(worker, counters);
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

  /** Ends the process if it does not answer in time. @param onSilence Called before it is ended. */
  watch(timeoutMillis: number, onSilence: () => void): void {
    if (this.#worker === undefined || !isBegun(this.#worker)) return;
    watchHeartbeats(this.#worker, timeoutMillis, () => {
      onSilence();
      this.kill('SIGKILL');
    });
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
      // A message to a process that has just ended fails; its exit is handled separately.
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

/** Describes the exit of a process. */
export function endText({ code, signal, unborn }: End): string {
  if (unborn !== undefined) return `before it began (${unborn})`;
  return signal === null ? `with code ${code}` : `by ${signal}`;
}

/** Serves quota requests of a process from the shared counters, and releases its slots when it ends. */
function countFor(worker: Worker, counters: SharedCounters): void {
  const counted = counters.serve((message) => {
    // A process that is about to end accepts no message; its exit releases its slots.
    if (!worker.isDead()) worker.send(message, () => undefined);
  });
  worker.on('message', (message: unknown) => {
    if (isQuotaRequests(message)) counted.receive(message.quotaRequests);
  });
  worker.once('exit', () => counted.ended());
}

function isQuotaRequests(message: unknown): message is QuotaRequests {
  return typeof message === 'object' && message !== null && 'quotaRequests' in message;
}
