/**
 * Numbers from 0 on in the order of two keys, equal ones by number. They are sorted only as far as they are
 * asked for: a heap.
 */
export class LeastFirst {
  readonly #first: Float64Array;
  readonly #second: Float64Array;
  readonly #heap: Uint32Array;
  #left: number;
  readonly #taken: number[] = [];

  /** @param first Keys by number; `second` decides between equal ones. None is NaN. */
  constructor(first: Float64Array, second: Float64Array) {
    this.#first = first;
    this.#second = second;
    this.#left = first.length;
    this.#heap = new Uint32Array(first.length);
    for (let at = 0; at < this.#left; at++) this.#heap[at] = at;
    for (let at = (this.#left >> 1) - 1; at >= 0; at--) this.#sink(at);
  }

  /** The number at a place of the order; undefined behind the end. */
  at(place: number): number | undefined {
    while (this.#taken.length <= place && this.#left > 0) this.#taken.push(this.#take());
    return this.#taken[place];
  }

  #take(): number {
    const least = this.#heap[0]!;
    this.#heap[0] = this.#heap[--this.#left]!;
    this.#sink(0);
    return least;
  }

  #sink(start: number): void {
    const heap = this.#heap;
    for (let at = start; ;) {
      let child = 2 * at + 1;
      if (child >= this.#left) return;
      if (child + 1 < this.#left && this.#isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (this.#isBefore(heap[at]!, heap[child]!)) return;
      [heap[at], heap[child]] = [heap[child]!, heap[at]!];
      at = child;
    }
  }

  #isBefore(one: number, other: number): boolean {
    const [left, right] = [this.#first[one]!, this.#first[other]!];
    if (left !== right) return left < right;
    const difference = this.#second[one]! - this.#second[other]!;
    return difference < 0 || (!(difference > 0) && one < other);
  }
}
