import type { OnDamage } from '../format/memory/open-files.ts';
import type { Task } from './task.ts';
import { Thread, type RowsAnswer } from './thread.ts';

/** Options of a task. */
interface TaskOptions {
  /** Owner of the task: one owner never occupies all threads. */
  readonly owner?: string;
  /** Answers the task's requests for rows that are in no files. */
  readonly rows?: RowsAnswer | undefined;
  /** Called once when the task has ended, however it did, with the processor time that it took, in ms. */
  readonly ended?: (spent: number) => void;
}

/** Threads for heavy work. They are started when there is some, and one that ended is replaced when there is more. */
export class ThreadPool {
  readonly #size: number;
  readonly #onDamage: OnDamage;
  readonly #threads = new Set<Thread>();

  /**
   * @param size How many threads there are at most, and one more where that is 1: one caller
   * may use all threads but one. With 0 there must be no task.
   * @param onDamage Called with damage that a read in a thread found.
   */
  constructor(size: number, onDamage: OnDamage = () => undefined) {
    this.#size = size;
    this.#onDamage = onDamage;
  }

  get size(): number {
    return this.#size;
  }

  get threads(): number {
    return this.#threads.size;
  }

  /** Tasks that are not done. */
  get tasks(): number {
    return [...this.#threads].reduce((sum, { busy }) => sum + busy, 0);
  }

  /**
   * Does a task on the thread that has the least to do. Resolves once the first
   * of its bytes are there; the task continues as they are taken, until the signal.
   * @throws CatalogError for a refusal, ServiceUnavailable when the thread ended.
   */
  async run(
    task: Task,
    signal: AbortSignal,
    { owner = '', rows, ended = () => undefined }: TaskOptions = {},
  ): Promise<AsyncGenerator<Uint8Array>> {
    signal.throwIfAborted();
    const result = this.#thread(owner).begin(task, owner, rows);
    const cancel = () => result.cancel(new Error('the request was aborted'));
    signal.addEventListener('abort', cancel, { once: true });
    result.whenEnded(() => {
      signal.removeEventListener('abort', cancel);
      ended(result.spent);
    });
    await result.begun();
    return result.pieces();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#threads].map((thread) => thread.stop()));
  }

  /** The thread for one more task. One owner never occupies all threads. */
  #thread(owner: string): Thread {
    const most = Math.max(2, this.#size);
    const all = [...this.#threads].sort((left, right) => left.busy - right.busy);
    const own = all.filter((thread) => thread.worksFor(owner) > 0);
    const [first] = own;
    if (first !== undefined && own.length >= most - 1) return first;
    const others = all.filter((thread) => thread.worksFor(owner) === 0);
    const [idlest] = others;
    if (idlest !== undefined && (idlest.busy === 0 || this.#threads.size >= most)) return idlest;
    const thread: Thread = new Thread(() => this.#threads.delete(thread), this.#onDamage);
    this.#threads.add(thread);
    return thread;
  }
}
