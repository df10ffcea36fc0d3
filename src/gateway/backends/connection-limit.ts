/** Who wants to send something to a backend. */
export interface Seated {
  /** It may now. */
  seated(): void;
}

/** Lets only so many requests at a time go to a backend; the others wait in the order in which they came. */
export class Seats {
  readonly #waiting = new Set<Seated>();
  #free: number;

  constructor(count: number) {
    this.#free = count;
  }

  /** Tells it at once where a seat is free. */
  take(who: Seated): void {
    if (this.#free === 0) {
      this.#waiting.add(who);
      return;
    }
    this.#free -= 1;
    who.seated();
  }

  /** Gives back what was taken, to be called once; or waits for it no more. */
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

/** Somebody who keeps connections to a backend. */
export interface ConnectionKeeper {
  /** How many it has, in use or not. */
  open(): number;
  /** Closes one that is not in use, if there is one. */
  dropOne(): boolean;
}

/**
 * So many connections may a backend have at a time, whoever keeps them. As there are no more
 * requests under way than that, who has to make one finds one that is not in use in its place.
 */
export class ConnectionLimit {
  readonly #most: number;
  readonly #keepers: ConnectionKeeper[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  /** Counts what somebody keeps, too. */
  add(keeper: ConnectionKeeper): void {
    this.#keepers.push(keeper);
  }

  /** To be called before another connection is made. */
  makeRoom(): void {
    while (this.#open() >= this.#most && this.#keepers.some((each) => each.dropOne()));
  }

  /** Whether there are too many, so that one that is not needed any more should not be kept. */
  get isExceeded(): boolean {
    return this.#open() > this.#most;
  }

  #open(): number {
    let open = 0;
    for (const keeper of this.#keepers) open += keeper.open();
    return open;
  }
}
