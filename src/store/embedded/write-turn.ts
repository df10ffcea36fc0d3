import { setTimeout as sleep } from 'node:timers/promises';
import { StoreError } from '../store-error.ts';
import type { WriteWaits } from '../store.ts';
import { WriteLock } from './write-lock.ts';

/** Longest time between two tries, in ms: while commits wait, and after they were refused. */
const LONGEST_PAUSE = 10;
const IDLE_PAUSE = 100;

/**
 * The turn of this process to write to the embedded store: one transaction of one process at a
 * time. It is taken before LMDB's own lock, because a thread that waits for that lock cannot be
 * interrupted, and its process cannot exit.
 */
export class WriteTurn implements WriteWaits {
  readonly waitMillis: number;
  readonly #lock: WriteLock;
  #held = false;
  #stale = false;
  readonly #closing = new AbortController();
  #closed = false;
  #waiting = 0;
  #since: number | undefined;
  #timeouts = 0;
  #refused = false;

  /** @param waitMillis How long a commit waits for the turn. */
  constructor(folder: string, waitMillis: number) {
    this.#lock = new WriteLock(folder);
    this.waitMillis = waitMillis;
  }

  get timeouts(): number {
    return this.#timeouts;
  }

  get presentMillis(): number {
    return this.#since === undefined ? 0 : performance.now() - this.#since;
  }

  fault(): string | undefined {
    return this.#refused ? this.#why() : undefined;
  }

  /**
   * Takes the turn, however long that takes: once it is taken, commits are no longer refused.
   * @param isNeeded Whether a commit waits for it. If none does, the wait ends with `close`.
   * @throws StoreError closed.
   */
  async take(isNeeded: () => boolean): Promise<void> {
    if (this.#tryTake()) return;
    await this.#waitFor(() => this.#closing.signal.aborted && !isNeeded());
    if (!this.#held) throw new StoreError('closed', 'the store is closed');
  }

  /** Ends a turn; does nothing if there is none. */
  release(): void {
    if (!this.#held) return;
    this.#held = false;
    this.#refused = false;
    this.#lock.release();
  }

  /** Runs a function in a turn of its own. @throws StoreError busy if there is none in time. */
  async during<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    if (!this.#tryTake()) {
      const until = performance.now() + this.waitMillis;
      if (!(await this.#waitFor(() => performance.now() >= until))) throw this.refusal();
    }
    try {
      return await work();
    } finally {
      this.release();
    }
  }

  /** The error of a commit that had no turn in time, which is counted. */
  refusal(): StoreError {
    this.#timeouts += 1;
    this.#refused = true;
    return new StoreError('busy', `nothing was written: ${this.#why()}`);
  }

  /** Uses the file that the folder holds, from the next turn on. */
  renew(): void {
    this.#stale = true;
  }

  /** Lets waits end that no commit needs. */
  stop(): void {
    this.#closing.abort();
  }

  close(): void {
    this.stop();
    if (!this.#closed) this.#lock.close();
    this.#closed = true;
  }

  #tryTake(): boolean {
    if (this.#held || this.#closed) return false;
    if (this.#stale) this.#lock.renew();
    this.#stale = false;
    this.#held = this.#lock.tryTake();
    return this.#held;
  }

  /** Tries again and again. @returns Whether the turn was taken before `isOver`. */
  async #waitFor(isOver: () => boolean): Promise<boolean> {
    const since = performance.now();
    this.#since ??= since;
    this.#waiting += 1;
    try {
      // At the end of a wait it is tried once more: this process may itself have been stopped.
      for (;;) {
        const over = isOver();
        if (this.#tryTake()) return true;
        if (over || this.#closed) return false;
        await this.#pause(performance.now() - since);
      }
    } finally {
      this.#waiting -= 1;
      if (this.#waiting === 0) this.#since = undefined;
    }
  }

  async #pause(waited: number): Promise<void> {
    const { signal } = this.#closing;
    if (waited <= this.waitMillis || signal.aborted) {
      await sleep(Math.min(1 + waited / 100, LONGEST_PAUSE));
      return;
    }
    // Commits were refused: the process may end before the turn is free.
    await sleep(IDLE_PAUSE, undefined, { ref: false, signal }).catch(() => undefined);
  }

  #why(): string {
    const limit = `for ${this.waitMillis / 1000} s (coordination.wait)`;
    if (this.#held) return `a transaction of this process has held the embedded store ${limit}`;
    const pid = this.#lock.holder();
    const holder = pid === undefined ? 'another process' : `the process ${pid}`;
    return `${holder} has not let others write to the embedded store ${limit}; continue or end that process, then try again`;
  }
}
