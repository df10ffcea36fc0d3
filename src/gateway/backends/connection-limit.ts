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
