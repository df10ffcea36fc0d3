import { buckets } from './metric-table.ts';

/** How often, and how long: a histogram of seconds. */
export class Tally {
  readonly #counts = new Float64Array(buckets.length + 1);
  #sum = 0;

  add(seconds: number): void {
    this.#sum += seconds;
    let at = 0;
    while (at < buckets.length && seconds > buckets[at]!) at += 1;
    this.#counts[at]! += 1;
  }

  get sum(): number {
    return this.#sum;
  }

  get count(): number {
    return this.#counts.reduce((total, count) => total + count, 0);
  }

  /** How many were at most as long as each bound, in the order of the bounds. */
  get atMost(): readonly number[] {
    let total = 0;
    return buckets.map((_, at) => (total += this.#counts[at]!));
  }
}
