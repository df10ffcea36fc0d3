/** How many keys are remembered at most. */
const MOST_KEYS = 2 ** 16;
/** Counts are halved once there were so many touches for each key that is remembered. */
const TOUCHES_PER_KEY = 8;
/** A handful of keys must not be forgotten within moments. */
const FEWEST_KEYS = 2 ** 10;

/** How often things were touched lately. What is not touched any more is forgotten by and by. */
export class TouchCounts {
  readonly #counts = new Map<string, number>();
  #touches = 0;

  /** Counts one touch more and answers how many there were. */
  add(key: string): number {
    const count = this.of(key) + 1;
    this.#counts.set(key, count);
    this.#touches++;
    const keys = Math.max(FEWEST_KEYS, this.#counts.size);
    if (this.#touches >= keys * TOUCHES_PER_KEY || this.#counts.size > MOST_KEYS) this.#age();
    return count;
  }

  of(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  #age(): void {
    this.#touches = 0;
    for (const [key, count] of this.#counts) {
      if (count > 1) this.#counts.set(key, count >> 1);
      else this.#counts.delete(key);
    }
  }
}
