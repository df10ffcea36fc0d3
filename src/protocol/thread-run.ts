import { Worker } from 'node:worker_threads';

/** How long an answer of a thread is waited for. */
interface ThreadBounds {
  /** Maximum duration, in ms; unbounded if absent. */
  readonly millis?: number;
  readonly signal?: AbortSignal;
}

/** A module that a thread runs. */
interface ThreadModule {
  readonly module: URL;
  /** Becomes `workerData`. */
  readonly data?: unknown;
  /** Names the thread in errors. */
  readonly name: string;
}

/** One run of a module on a thread of its own. */
type ThreadRun = ThreadModule & ThreadBounds;

/**
 * Runs a module on a thread and returns the first message that it posts. The thread ends in any case.
 * @throws the error of the thread; an Error if it ends without a message, or after `millis`, or by the signal.
 */
export async function runOnThread<Result>(run: ThreadRun): Promise<Result> {
  run.signal?.throwIfAborted();
  const thread = new ModuleThread(run);
  try {
    return await thread.answer<Result>(run);
  } finally {
    await thread.end();
  }
}

interface Waiting {
  readonly resolve: (message: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** A thread that runs a module and answers one task at a time, until it is ended. */
export class ModuleThread {
  readonly #worker: Worker;
  readonly #name: string;
  #waiting: Waiting | undefined;
  #hasEnded = false;

  constructor({ module, data, name }: ThreadModule) {
    this.#name = name;
    this.#worker = new Worker(module, { workerData: data, stderr: true });
    // The process logs its warnings; a thread's output would be lost.
    this.#worker.stderr.on('data', (text: Buffer) => process.emitWarning(String(text).trim()));
    this.#worker.on('message', (message: unknown) => this.#waiting?.resolve(message));
    // Without a task there is nobody to tell: the next task fails.
    this.#worker.on('error', (error) => this.#waiting?.reject(error));
    this.#worker.once('exit', (code) => {
      this.#hasEnded = true;
      this.#waiting?.reject(new Error(`${this.#name} ended with ${code}`));
    });
  }

  /** Posts a task and returns the answer. @throws as `runOnThread`; the thread answers nothing more then */
  ask<Result>(task: unknown): Promise<Result> {
    if (!this.#hasEnded) this.#worker.postMessage(task, []);
    return this.answer<Result>();
  }

  /** The next message. @throws as `runOnThread` */
  async answer<Result>({ signal, millis }: ThreadBounds = {}): Promise<Result> {
    const ending = new AbortController();
    try {
      return await new Promise<Result>((resolve, reject) => {
        const fail = (why: string) => reject(new Error(`${this.#name} ${why}`));
        this.#waiting = { resolve: resolve as Waiting['resolve'], reject };
        if (this.#hasEnded) fail('has ended');
        onAbort(signal, () => fail('was stopped'), ending.signal);
        if (millis !== undefined) {
          const timer = setTimeout(() => fail(`took longer than ${millis} ms`), millis);
          ending.signal.addEventListener('abort', () => clearTimeout(timer));
        }
      });
    } finally {
      ending.abort();
      this.#waiting = undefined;
    }
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }
}

function onAbort(signal: AbortSignal | undefined, call: () => void, until: AbortSignal): void {
  signal?.addEventListener('abort', call, { once: true, signal: until });
}
