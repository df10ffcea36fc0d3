/** Something under way that may look at any file that was needed when it began. */
export interface Lease {
  readonly sinceMillis: number;
  /** To be called when it is over. Resolves when the work that waited for it alone is done; undefined where none did. */
  end(): Promise<void> | undefined;
}

/** Work that waits for what was under way when it was given. */
interface Waiting {
  readonly leases: Set<Lease>;
  readonly work: () => Promise<void>;
}

/**
 * What is under way in this process: requests until their answers are sent, and
 * upkeep. A file is removed when everything that was under way while it was
 * still needed has ended: so no read loses a file, and no writer one that it
 * has just written.
 */
export class Running {
  readonly #leases = new Set<Lease>();
  readonly #waiting = new Set<Waiting>();
  readonly #tasks = new Set<Promise<void>>();

  begin(): Lease {
    const lease: Lease = { sinceMillis: Date.now(), end: () => this.#end(lease) };
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

  /** When the oldest of what is under way began, in milliseconds; undefined when nothing is. */
  oldest(): number | undefined {
    const starts = [...this.#leases].map(({ sinceMillis }) => sinceMillis);
    return starts.length === 0 ? undefined : Math.min(...starts);
  }

  /**
   * Does work once all that is under way now has ended. Resolves when it is done,
   * or at once when it has to wait. Work that fails is dropped: whoever gives it
   * keeps a record of it.
   */
  async afterwards(work: () => Promise<void>): Promise<void> {
    if (this.#leases.size === 0) return this.#task(work);
    this.#waiting.add({ leases: new Set(this.#leases), work });
  }

  /** Resolves when the work that has begun is done. */
  async settled(): Promise<void> {
    await Promise.all(this.#tasks);
  }

  #end(lease: Lease): Promise<void> | undefined {
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
