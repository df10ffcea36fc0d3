import { isDeepStrictEqual } from 'node:util';
import { OverBudget } from '../protocol/budget.ts';
import type { LanceStatement } from '../engine/versions/managed/lance-library.ts';
import type { TaskInput } from './library-process.ts';
import type { AccessOf } from './lance-rows.ts';
import type { LibraryPool, RowsPool } from './library-pool.ts';
import type { LibraryTask, StoreAccess } from './wire/messages.ts';

/** Time between looks at the object store of a task in progress, in ms. */
export const STORE_LOOK_MILLIS = 10_000;

/** Tries the object store of a location. @throws StorageUnavailable, StorageRefused */
export type LookAtStore = (location: string) => Promise<void>;

/** The object stores of the Lance library. */
export interface LibraryStores {
  readonly access: AccessOf;
  readonly look: LookAtStore;
}

/** A pool whose processes get other credentials for a table. */
type StoresPool = RowsPool & Pick<LibraryPool, 'renew'>;

/**
 * A pool that tells slow work from an object store that does not answer: the library waits for both alike, until the
 * time of the request is spent. So the gateway tries the store of a long task itself. If that fails, the task ends with
 * the error of the store. A task that is longer than its credentials gets others in time.
 */
export class StoreLooks implements RowsPool {
  readonly #pool: StoresPool;
  readonly #stores: LibraryStores;
  readonly #millis: number;

  /** @param millis Time between looks. */
  constructor(pool: StoresPool, stores: LibraryStores, millis = STORE_LOOK_MILLIS) {
    this.#pool = pool;
    this.#stores = stores;
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
    let last = store;
    const look = async (): Promise<void> => {
      last = await this.#renewed(location, last);
      await this.#stores.look(location);
    };
    const watch = new StoreWatch(look, this.#millis);
    const signal = AbortSignal.any([statement.signal(), watch.signal]);
    const { budget, owner } = statement;
    try {
      const watched = { budget, owner, signal: () => signal };
      return piecesUnder(watch, await this.#pool.run(task, watched, input));
    } catch (error) {
      throw await watch.causeOf(error);
    }
  }

  /** Returns the current credentials of a table, or the last ones if the token service is unavailable: they may still be valid. */
  async #renewed(location: string, last: StoreAccess): Promise<StoreAccess> {
    const now = await this.#stores.access(location).catch(() => undefined);
    if (now === undefined || isDeepStrictEqual(now, last)) return last;
    this.#pool.renew(location, now);
    return now;
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
