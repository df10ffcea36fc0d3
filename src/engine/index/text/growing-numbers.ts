/** Most numbers for which room is added at once: a long list takes no memory that it never fills. */
const MOST_ADDED = 2 ** 21;

/** A growing list of integers below 2^32. */
export class GrowingNumbers {
  #values = new Uint32Array(1024);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(value: number): void {
    if (this.#length === this.#values.length) this.#grow();
    this.#values[this.#length++] = value;
  }

  /** Removes all but the first numbers. */
  cut(length: number): void {
    this.#length = Math.min(this.#length, length);
  }

  /** The added numbers, as a view of memory that is reused. */
  get values(): Uint32Array {
    return this.#values.subarray(0, this.#length);
  }

  #grow(): void {
    const values = new Uint32Array(this.#length + Math.min(this.#length, MOST_ADDED));
    values.set(this.#values);
    this.#values = values;
  }
}
