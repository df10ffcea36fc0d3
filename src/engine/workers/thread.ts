import { Worker } from 'node:worker_threads';
import { DamagedFile } from '../../arrow/sealed/file-seal.ts';
import { CatalogError } from '../../protocol/errors.ts';
import type { OnDamage } from '../format/memory/open-files.ts';
import {
  errorOf,
  type RowsReply,
  type FromThread,
  type Task,
  type ToThread,
  type WantedRows,
} from './task.ts';
import { TaskResult } from './task-result.ts';

/** The built program: threads run no TypeScript. Found from the sources as well as from what is built of them. */
const MAIN = new URL('../../../dist/engine/workers/thread-main.js', import.meta.url);

/** The most memory of a thread's own objects, in MiB. Rows lie outside of it. */
const HEAP_MIB = 256;

/** Reads rows for a task. Does not reject. */
export type RowsAnswer = (wanted: WantedRows) => Promise<RowsReply>;

/** One thread, and the tasks that it is doing. */
export class Thread {
  readonly #worker: Worker;
  readonly #results = new Map<number, TaskResult>();
  readonly #owners = new Map<number, string>();
  readonly #rows = new Map<number, RowsAnswer>();
  readonly #ended: () => void;
  readonly #onDamage: OnDamage;
  #next = 0;

  /**
   * @param ended Called when the thread is no more; its tasks have failed then.
   * @param onDamage Called with damage that a read in the thread found.
   */
  constructor(ended: () => void, onDamage: OnDamage) {
    this.#ended = ended;
    this.#onDamage = onDamage;
    this.#worker = new Worker(MAIN, {
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB },
      stderr: true,
    });
    // Warnings of Node in a thread become warnings of the process, which logs them.
    this.#worker.stderr.on('data', (text: Buffer) => process.emitWarning(String(text).trim()));
    this.#worker.unref();
    this.#worker.on('message', (message: FromThread) => this.#receive(message));
    this.#worker.on('error', () => this.#end());
    this.#worker.on('exit', () => this.#end());
  }

  /** Number of running tasks. */
  get busy(): number {
    return this.#results.size;
  }

  /** Number of running tasks of an owner. */
  worksFor(owner: string): number {
    return [...this.#owners.values()].filter((each) => each === owner).length;
  }

  /**
   * @param owner Whom the task is for.
   * @param rows Answers the task's requests for rows.
   */
  begin(task: Task, owner: string, rows?: RowsAnswer): TaskResult {
    const id = this.#next++;
    this.#owners.set(id, owner);
    if (rows !== undefined) this.#rows.set(id, rows);
    this.#send({ kind: 'begin', id, task }, task.kind === 'unpack' ? [task.batch.body.buffer] : []);
    const result = new TaskResult(
      () => this.#send({ kind: 'more', id }),
      () => this.#send({ kind: 'cancel', id }),
    );
    this.#results.set(id, result);
    return result;
  }

  async stop(): Promise<void> {
    await this.#worker.terminate();
  }

  #receive(message: FromThread): void {
    if (message.kind === 'damage') {
      this.#onDamage(new DamagedFile(message.damage.path, message.damage.part));
      return;
    }
    const result = this.#results.get(message.id);
    if (message.kind === 'piece') {
      result?.add(message.bytes);
      return;
    }
    if (message.kind === 'want') {
      void this.#answer(message);
      return;
    }
    this.#rows.delete(message.id);
    this.#results.delete(message.id);
    this.#owners.delete(message.id);
    if (result !== undefined) result.spent = message.spent;
    if (message.kind === 'end') result?.end();
    else result?.fail(errorOf(message.fault));
  }

  async #answer({ id, call, wanted }: Extract<FromThread, { kind: 'want' }>): Promise<void> {
    const found = await this.#rows.get(id)?.(wanted);
    if (found !== undefined) this.#send({ kind: 'rows', id, call, found });
  }

  #end(): void {
    this.#ended();
    this.#rows.clear();
    const broken = [...this.#results.values()];
    this.#results.clear();
    this.#owners.clear();
    for (const result of broken) {
      const advice = 'the thread that was doing this has ended; ask again, or for less';
      result.fail(new CatalogError('ServiceUnavailable', advice));
    }
  }

  #send(message: ToThread, memory: readonly ArrayBuffer[] = []): void {
    this.#worker.postMessage(message, [...memory]);
  }
}
