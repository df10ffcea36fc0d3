import type { Task } from './task.ts';
import { Thread } from './thread.ts';

/** Threads for heavy work. They are started when there is some, and one that ended is replaced when there is more. */
export class ThreadPool {
  readonly #size: number;
  readonly #threads = new Set<Thread>();

  /** @param size How many threads there are at most; with 0 there must be no task. */
  constructor(size: number) {
    this.#size = size;
  }

  get size(): number {
    return this.#size;
  }

  /** Tasks that are not done. */
  get tasks(): number {
    return [...this.#threads].reduce((sum, { busy }) => sum + busy, 0);
  }

  /**
   * Does a task on the thread that has the least to do. Resolves once the first
   * of its bytes are there; the task goes on as they are taken, until the signal.
   * @param ended Called once when the task has ended, however it did.
   * @throws CatalogError for a refusal, ServiceUnavailable when the thread ended.
   */
  async run(
    task: Task,
    signal: AbortSignal,
    ended: () => void = () => undefined,
  ): Promise<AsyncGenerator<Uint8Array>> {
    signal.throwIfAborted();
    const result = this.#thread().begin(task);
    const cancel = () => result.cancel(new Error('the request was aborted'));
    signal.addEventListener('abort', cancel, { once: true });
    result.whenEnded(() => {
      signal.removeEventListener('abort', cancel);
      ended();
    });
    await result.begun();
    return result.pieces();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#threads].map((thread) => thread.stop()));
  }

  #thread(): Thread {
    const [idlest] = [...this.#threads].sort((left, right) => left.busy - right.busy);
    if (idlest !== undefined && (idlest.busy === 0 || this.#threads.size >= this.#size)) {
      return idlest;
    }
    const thread: Thread = new Thread(() => this.#threads.delete(thread));
    this.#threads.add(thread);
    return thread;
  }
}
