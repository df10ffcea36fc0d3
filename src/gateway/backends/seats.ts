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
