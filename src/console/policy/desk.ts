import { Worker } from 'node:worker_threads';
import { CatalogError, errorTable, TryAgain } from '../../protocol/errors.ts';
import type { StoredKey } from '../../gateway/identity/keys.ts';
import type { DeskAnswer, DeskPlaces, DeskTask, NumberedDeskTask } from './desk-task.ts';

/** Maximum duration of a task, in ms. Then its thread ends. */
export const DESK_TASK_MILLIS = 300_000;
/** Tasks that run at once, each on a thread of its own. */
const MOST_TASKS = 3;
/** Tasks that may wait for a thread. */
const MOST_WAITING = 12;
/** Idle time after which a thread ends, in ms. */
const IDLE_MILLIS = 60_000;
/** Memory of a thread, in MiB. */
const THREAD_MEMORY = 512;

interface DeskOptions {
  readonly places: DeskPlaces;
  /** Reads the keys. */
  readonly keys: () => Promise<readonly StoredKey[]>;
  /** Program of the threads. */
  readonly thread: URL;
  /** Called with errors that callers only learn as internal. */
  readonly failed: (error: Error) => void;
  /** Maximum duration of a task, in ms. */
  readonly millis?: number;
}

interface RunOptions {
  /** Called with the JSON of parts of the answer. */
  readonly onPart?: (json: string) => void;
  /** Ends the task. */
  readonly signal?: AbortSignal;
}

interface Running extends RunOptions {
  readonly id: number;
  readonly worker: Worker;
  readonly settle: (end: { readonly json: string } | { readonly error: Error }) => void;
}

/** Works on policies on threads: a task that takes long holds up neither requests nor other tasks. */
export class PolicyDesk {
  readonly #options: DeskOptions;
  readonly #idle = new Map<Worker, NodeJS.Timeout>();
  readonly #running = new Map<Worker, Running>();
  readonly #waiting: (() => void)[] = [];
  #tasks = 0;
  /** Tasks that run or are about to. */
  #taken = 0;
  #isClosed = false;

  constructor(options: DeskOptions) {
    this.#options = options;
  }

  /**
   * The result of a task, as JSON.
   * @throws CatalogError InvalidInput for a task that is wrong or takes too long; ServiceUnavailable if too many wait,
   *   or the task was ended; Internal
   */
  async run(task: DeskTask, options: RunOptions = {}): Promise<string> {
    await this.#turn();
    try {
      const keys = (await this.#options.keys()).map(({ hash: _hash, ...key }) => key);
      // Asked last: a signal that was given before tells nobody again.
      if (this.#isClosed) throw stopping();
      if (options.signal?.aborted === true) throw ended();
      return await this.#work({ task, keys }, options);
    } finally {
      this.#taken -= 1;
      this.#waiting.shift()?.();
    }
  }

  #work(work: Omit<NumberedDeskTask, 'id'>, options: RunOptions): Promise<string> {
    const worker = this.#free() ?? this.#start();
    const id = this.#tasks++;
    return new Promise<string>((resolve, reject) => {
      const { millis = DESK_TASK_MILLIS } = this.#options;
      const timer = setTimeout(() => this.#end(worker, tooLong(millis)), millis);
      const abort = (): void => this.#end(worker, ended());
      options.signal?.addEventListener('abort', abort);
      const settle: Running['settle'] = (end) => {
        clearTimeout(timer);
        options.signal?.removeEventListener('abort', abort);
        if ('json' in end) resolve(end.json);
        else reject(end.error);
      };
      this.#running.set(worker, { ...options, id, worker, settle });
      const message: NumberedDeskTask = { id, ...work };
      worker.postMessage(message, []);
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const [worker, timer] of this.#idle) {
      clearTimeout(timer);
      void worker.terminate();
    }
    for (const resume of this.#waiting.splice(0)) resume();
    for (const worker of this.#running.keys()) this.#end(worker, stopping());
  }

  /** Waits until a thread is free. */
  async #turn(): Promise<void> {
    if (this.#taken < MOST_TASKS) {
      this.#taken += 1;
      return;
    }
    if (this.#waiting.length >= MOST_WAITING) {
      throw new TryAgain('too many questions about the policy are running: try again', '10');
    }
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#taken += 1;
  }

  #free(): Worker | undefined {
    const [entry] = this.#idle;
    if (entry === undefined) return undefined;
    const [worker, timer] = entry;
    clearTimeout(timer);
    this.#idle.delete(worker);
    return worker;
  }

  #start(): Worker {
    const { thread, places, failed } = this.#options;
    const resourceLimits = { maxOldGenerationSizeMb: THREAD_MEMORY };
    const worker = new Worker(thread, { stderr: true, resourceLimits, workerData: places });
    worker.unref();
    worker.on('message', (answer: DeskAnswer) => this.#answered(worker, answer));
    worker.on('error', (error) => {
      failed(error);
      this.#end(worker, tooLarge());
    });
    return worker;
  }

  #answered(worker: Worker, answer: DeskAnswer): void {
    const running = this.#running.get(worker);
    if (running?.id !== answer.id) return;
    if ('part' in answer) {
      running.onPart?.(answer.part);
      return;
    }
    this.#running.delete(worker);
    const timer = setTimeout(() => {
      this.#idle.delete(worker);
      void worker.terminate();
    }, IDLE_MILLIS).unref();
    this.#idle.set(worker, timer);
    running.settle('json' in answer ? answer : { error: this.#errorOf(answer.error) });
  }

  #errorOf({ name, message }: { readonly name: string; readonly message: string }): Error {
    const row = errorTable.find((each) => each.name === name);
    if (row !== undefined && row.name !== 'Internal') return new CatalogError(row.name, message);
    this.#options.failed(new Error(message));
    return new CatalogError('Internal', `the policy cannot be looked at: ${message}`);
  }

  /** Ends a thread; its task fails. */
  #end(worker: Worker, error: Error): void {
    const running = this.#running.get(worker);
    this.#running.delete(worker);
    void worker.terminate();
    running?.settle({ error });
  }
}

function tooLong(millis: number): CatalogError {
  return new CatalogError(
    'InvalidInput',
    `the work on the policy took longer than ${millis / 1000} s: choose a shorter period`,
  );
}

function tooLarge(): CatalogError {
  return new CatalogError(
    'InvalidInput',
    'the work on the policy needed too much memory: choose a shorter period',
  );
}

function ended(): CatalogError {
  return new CatalogError('ServiceUnavailable', 'the work on the policy was ended');
}

function stopping(): CatalogError {
  return new CatalogError('ServiceUnavailable', 'the gateway is stopping');
}
