/** A list of 32-bit numbers that grows. */
export class GrowingWords {
  #words = new Uint32Array(64);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  at(index: number): number {
    return this.#words[index]!;
  }

  set(index: number, value: number): void {
    this.#words[index] = value;
  }

  push(value: number): void {
    this.#reserve(1);
    this.#words[this.#length++] = value;
  }

  /** Adds the first words of a list. */
  append(words: Uint32Array, count: number): void {
    this.#reserve(count);
    for (let index = 0; index < count; index++) this.#words[this.#length + index] = words[index]!;
    this.#length += count;
  }

  /** The numbers themselves, until the list grows. */
  view(): Uint32Array {
    return this.#words.subarray(0, this.#length);
  }

  clear(): void {
    this.#length = 0;
  }

  #reserve(count: number): void {
    const needed = this.#length + count;
    if (needed <= this.#words.length) return;
    const words = new Uint32Array(Math.max(needed, 2 * this.#words.length));
    words.set(this.view());
    this.#words = words;
  }
}
