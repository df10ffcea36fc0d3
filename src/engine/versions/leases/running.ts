/** Something in progress that may look at any file that was needed when it began. */
export interface Lease {
  readonly sinceMillis: number;
  /** To be called when it is over. Resolves when the work that waited for it alone is done; undefined where none did. */
  end(): Promise<void> | undefined;
}

/** Tolerance for a clock that is set back, in ms: small corrections are common. */
const SET_BACK_MILLIS = 100;

interface OwnLease extends Lease {
  sinceMillis: number;
}

/** Work that waits for what was in progress when it was given. */
interface Waiting {
  readonly leases: Set<Lease>;
  readonly work: () => Promise<void>;
}

/**
 * Work in progress in this process: requests until their answers are sent, and upkeep. A file is removed
 * after everything has ended that was in progress while the file was needed. So no read loses a file,
 * and no writer one that it has just written.
 */
export class Running {
  readonly #leases = new Set<OwnLease>();
  readonly #waiting = new Set<Waiting>();
  readonly #tasks = new Set<Promise<void>>();
  /** Lead of the wall clock over the monotonic clock, in ms. */
  #ahead = Date.now() - performance.now();

  begin(): Lease {
    const lease: OwnLease = { sinceMillis: Date.now(), end: () => this.#end(lease) };
    this.#leases.add(lease);
    return lease;
  }

  /** Does work that may read or write the files of tables. */
  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    const lease = this.begin();
    try {
      return await work();
    } finally {
      await lease.end();
    }
  }

  /**
   * When the oldest of what is in progress began, in milliseconds; undefined when nothing is. By
   * the clock as it is now: what is given up after it was set back is younger all the same.
   */
  oldest(): number | undefined {
    this.#followClock();
    const starts = [...this.#leases].map(({ sinceMillis }) => sinceMillis);
    return starts.length === 0 ? undefined : Math.min(...starts);
  }

  #followClock(): void {
    const ahead = Date.now() - performance.now();
    const back = this.#ahead - ahead;
    if (back > 0 && back < SET_BACK_MILLIS) return;
    this.#ahead = ahead;
    if (back > 0) for (const lease of this.#leases) lease.sinceMillis -= back;
  }

  /**
   * Runs work after everything that is in progress now has ended. Resolves when it is done, or at once if it
   * has to wait. Failed work is dropped: the caller keeps a record of it.
   */
  async afterwards(work: () => Promise<void>): Promise<void> {
    if (this.#leases.size === 0) return this.#task(work);
    this.#waiting.add({ leases: new Set(this.#leases), work });
  }

  /** Resolves when the work that has begun is done. */
  async settled(): Promise<void> {
    await Promise.all(this.#tasks);
  }

  #end(lease: OwnLease): Promise<void> | undefined {
    this.#leases.delete(lease);
    return this.#waiting.size === 0 ? undefined : this.#endWaiting(lease);
  }

  async #endWaiting(lease: Lease): Promise<void> {
    const due = [...this.#waiting].filter(
      ({ leases }) => leases.delete(lease) && leases.size === 0,
    );
    for (const waiting of due) this.#waiting.delete(waiting);
    await Promise.all(due.map(({ work }) => this.#task(work)));
  }

  async #task(work: () => Promise<void>): Promise<void> {
    const task = work().catch(() => undefined);
    this.#tasks.add(task);
    await task;
    this.#tasks.delete(task);
  }
}
