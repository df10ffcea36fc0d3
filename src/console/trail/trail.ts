import { Worker } from 'node:worker_threads';
import { microsOf } from '../../audit/record/time.ts';
import { CatalogError, errorTable, TryAgain } from '../../protocol/errors.ts';
import type { FilterText } from './filter-text.ts';
import type { NumberedTask, TaskAnswer, TrailTask } from './trail-task.ts';

/** Period of traffic without a filter, in microseconds. */
const DAY_MICROS = 86_400_000_000n;
const THREAD = new URL('../../../dist/console/trail/trail-thread.js', import.meta.url);

/** Maximum duration of a task, waiting included, in ms. Then its thread ends. */
export const TRAIL_TASK_MILLIS = 60_000;
/** Tasks that may wait for the thread. */
const MOST_TASKS = 16;
/** The thread ends when it has had nothing to do for so long, in ms. */
const IDLE_MILLIS = 60_000;
/** Memory of the thread, in MiB. */
const THREAD_MEMORY = 768;

interface Waiting {
  readonly resolve: (json: string) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

interface TrailOptions {
  /** Folder of the audit log. */
  readonly folder: string;
  /** Called with errors of the log that callers only learn as internal. */
  readonly failed: (error: Error) => void;
  /** Brings the logs of other gateways for a period. @throws CatalogError */
  readonly prepare?: (window: TaskWindow) => Promise<void>;
  /** Maximum duration of a task, in ms. */
  readonly millis?: number;
}

/** Reads the audit log on a thread of its own, one task after the other. */
export class Trail {
  readonly #options: TrailOptions;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;
  #tasks = 0;

  constructor(options: TrailOptions) {
    this.#options = options;
  }

  /**
   * The result of a task, as JSON.
   * @throws CatalogError InvalidInput for a task that is wrong or takes too long; ServiceUnavailable if too many wait; Internal
   */
  run(task: TrailTask): Promise<string> {
    const { prepare } = this.#options;
    const window = prepare && windowOf(task);
    if (prepare === undefined || window === undefined) return this.#run(task);
    return prepare(window).then(() => this.#run(task));
  }

  #run(task: TrailTask): Promise<string> {
    if (this.#waiting.size >= MOST_TASKS) {
      const sentence = 'too many searches of the audit log are running: try again in a few seconds';
      throw new TryAgain(sentence, '5');
    }
    clearTimeout(this.#idle);
    const worker = (this.#worker ??= this.#start());
    const id = this.#tasks++;
    return new Promise<string>((resolve, reject) => {
      const { millis = TRAIL_TASK_MILLIS } = this.#options;
      const timer = setTimeout(() => this.#end(worker, tooLong(millis)), millis);
      this.#waiting.set(id, { resolve, reject, timer });
      const message: NumberedTask = { id, folder: this.#options.folder, task };
      worker.postMessage(message, []);
    });
  }

  /** Starts the thread before the first task, which then does not wait for it. */
  prepare(): void {
    if (this.#worker !== undefined) return;
    this.#worker = this.#start();
    this.#rest();
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle);
    if (this.#worker !== undefined) this.#end(this.#worker, stopping());
  }

  #start(): Worker {
    const resourceLimits = { maxOldGenerationSizeMb: THREAD_MEMORY };
    const worker = new Worker(THREAD, { stderr: true, resourceLimits });
    worker.unref();
    worker.on('message', (answer: TaskAnswer) => this.#answered(answer));
    worker.on('error', (error) => {
      this.#options.failed(error);
      this.#end(worker, tooLarge());
    });
    return worker;
  }

  #answered(answer: TaskAnswer): void {
    const waiting = this.#waiting.get(answer.id);
    if (waiting === undefined) return;
    this.#waiting.delete(answer.id);
    clearTimeout(waiting.timer);
    if ('json' in answer) waiting.resolve(answer.json);
    else waiting.reject(this.#errorOf(answer.error));
    if (this.#waiting.size === 0) this.#rest();
  }

  #rest(): void {
    const worker = this.#worker;
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => {
      if (worker !== undefined) this.#end(worker, stopping());
    }, IDLE_MILLIS).unref();
  }

  #errorOf({ name, message }: { readonly name: string; readonly message: string }): Error {
    const row = errorTable.find((each) => each.name === name);
    if (row !== undefined && row.name !== 'Internal') return new CatalogError(row.name, message);
    this.#options.failed(new Error(message));
    return new CatalogError('Internal', `the audit log cannot be read: ${message}`);
  }

  /** Ends a thread; its tasks fail. */
  #end(worker: Worker, error: Error): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    void worker.terminate();
    for (const { reject, timer } of this.#waiting.values()) {
      clearTimeout(timer);
      reject(error);
    }
    this.#waiting.clear();
  }
}

/** Period of a task, in microseconds since 1970. */
interface TaskWindow {
  readonly since?: bigint | undefined;
  readonly until?: bigint | undefined;
}

/** The records that a task may read; undefined if it reads none. */
function windowOf(task: TrailTask): TaskWindow | undefined {
  if (task.kind === 'who' || task.kind === 'explain') return undefined;
  if (task.kind === 'page') return periodOf(task.filter);
  if (task.kind === 'arrow') return periodOf(task.page.filter);
  if (task.kind === 'traffic') {
    const { since, until } = periodOf(task.filter);
    const end = until ?? BigInt(task.now) * 1000n;
    return { since: since ?? end - DAY_MICROS, until: end };
  }
  if (task.kind !== 'request' || task.began === undefined) return {};
  const began = microsOf(task.began);
  return { since: began, until: began + 1n };
}

function periodOf({ since, until }: FilterText): TaskWindow {
  const micros = (time: string | undefined) => (time === undefined ? undefined : microsOf(time));
  return { since: micros(since), until: micros(until) };
}

function tooLong(millis: number): CatalogError {
  const seconds = millis / 1000;
  return new CatalogError(
    'InvalidInput',
    `the search of the audit log took longer than ${seconds} s: choose a shorter period`,
  );
}

function tooLarge(): CatalogError {
  return new CatalogError(
    'InvalidInput',
    'the search of the audit log needed too much memory: choose a shorter period',
  );
}

function stopping(): CatalogError {
  return new CatalogError('ServiceUnavailable', 'the gateway is stopping');
}
