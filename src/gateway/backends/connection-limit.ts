/** A request that waits for a connection to a backend. */
export interface Seated {
  /** Called when the request may start. */
  seated(): void;
}

/** Limits the number of concurrent requests to a backend; further requests wait in order of arrival. */
export class Seats {
  readonly #waiting = new Set<Seated>();
  #free: number;

  constructor(count: number) {
    this.#free = count;
  }

  /** Calls `seated` synchronously if a seat is free. */
  take(who: Seated): void {
    if (this.#free === 0) {
      this.#waiting.add(who);
      return;
    }
    this.#free -= 1;
    who.seated();
  }

  /** Releases the slot, or leaves the queue. Call it once. */
  leave(who: Seated): void {
    if (this.#waiting.delete(who)) return;
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    this.#waiting.delete(next);
    next.seated();
  }
}

/** A pool of connections to a backend. */
export interface ConnectionKeeper {
  /** Number of open connections, busy or idle. */
  open(): number;
  /** Closes an idle connection, if there is one. */
  dropOne(): boolean;
}

/**
 * Limits the connections of a backend over all pools. As the number of requests in flight has the
 * same limit, an idle connection can always be closed for a new one.
 */
export class ConnectionLimit {
  readonly #most: number;
  readonly #keepers: ConnectionKeeper[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  /** Adds a pool whose connections count. */
  add(keeper: ConnectionKeeper): void {
    this.#keepers.push(keeper);
  }

  /** Call before opening a connection. */
  makeRoom(): void {
    while (this.#open() >= this.#most && this.#keepers.some((each) => each.dropOne()));
  }

  /** Whether there are more connections than allowed, so that an idle one should be closed. */
  get isExceeded(): boolean {
    return this.#open() > this.#most;
  }

  #open(): number {
    let open = 0;
    for (const keeper of this.#keepers) open += keeper.open();
    return open;
  }
}
