import { OverBudget } from '../protocol/budget.ts';
import type { LanceStatement } from '../engine/versions/managed/lance-library.ts';
import type { TaskInput } from './library-process.ts';
import type { RowsPool } from './library-pool.ts';
import type { LibraryTask } from './wire/messages.ts';

/** Time between looks at the object store of a task in progress, in ms. */
export const STORE_LOOK_MILLIS = 10_000;

/** Tries the object store of a location. @throws StorageUnavailable, StorageRefused */
export type LookAtStore = (location: string) => Promise<void>;

/**
 * A pool that tells slow work from an object store that does not answer: the library waits for both alike, until the
 * time of the request is spent. So the gateway tries the store of a long task itself. If that fails, the task ends with
 * the error of the store.
 */
export class StoreLooks implements RowsPool {
  readonly #pool: RowsPool;
  readonly #look: LookAtStore;
  readonly #millis: number;

  /** @param millis Time between looks. */
  constructor(pool: RowsPool, look: LookAtStore, millis = STORE_LOOK_MILLIS) {
    this.#pool = pool;
    this.#look = look;
    this.#millis = millis;
  }

  get rowBytes(): number {
    return this.#pool.rowBytes;
  }

  reuse(piece: Uint8Array): void {
    this.#pool.reuse(piece);
  }

  /** @throws as `LibraryPool.run`; StorageUnavailable and StorageRefused */
  async run(
    task: LibraryTask,
    statement: LanceStatement,
    input: TaskInput,
  ): Promise<AsyncGenerator<Uint8Array>> {
    const { location, store } = task.table;
    if (store === undefined) return this.#pool.run(task, statement, input);
    const watch = new StoreWatch(() => this.#look(location), this.#millis);
    const signal = AbortSignal.any([statement.signal(), watch.signal]);
    const { budget, owner } = statement;
    try {
      const watched = { budget, owner, signal: () => signal };
      return piecesUnder(watch, await this.#pool.run(task, watched, input));
    } catch (error) {
      throw await watch.causeOf(error);
    }
  }
}

async function* piecesUnder(
  watch: StoreWatch,
  pieces: AsyncGenerator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    yield* pieces;
  } catch (error) {
    throw await watch.causeOf(error);
  } finally {
    watch.stop();
  }
}

/** Looks at the object store of one task until the task ends. */
class StoreWatch {
  readonly #look: () => Promise<void>;
  readonly #timer: NodeJS.Timeout;
  readonly #aborted = new AbortController();
  #looking: Promise<void> | undefined;
  #fault: unknown;

  constructor(look: () => Promise<void>, millis: number) {
    this.#look = look;
    this.#timer = setInterval(() => void this.#lookAgain(), millis).unref();
  }

  /** Aborted once the store does not answer. */
  get signal(): AbortSignal {
    return this.#aborted.signal;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** The error of the store, if that is why a task failed; else the error of the task. Stops the watch. */
  async causeOf(error: unknown): Promise<unknown> {
    this.stop();
    if (error instanceof OverBudget && error.key === 'time') await this.#lookAgain();
    return this.#fault ?? error;
  }

  #lookAgain(): Promise<void> {
    this.#looking ??= this.#tryStore().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #tryStore(): Promise<void> {
    try {
      await this.#look();
    } catch (error) {
      this.#fault = error;
      this.#aborted.abort(error);
    }
  }
}
