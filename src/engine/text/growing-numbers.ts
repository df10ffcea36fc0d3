/** Whole numbers, one added after the other. */
export class GrowingNumbers {
  #values = new Uint32Array(1024);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(value: number): void {
    if (this.#length === this.#values.length) {
      const values = new Uint32Array(2 * this.#length);
      values.set(this.#values);
      this.#values = values;
    }
    this.#values[this.#length++] = value;
  }

  /** Those that were added; the memory is used on. */
  get values(): Uint32Array {
    return this.#values.subarray(0, this.#length);
  }
}
