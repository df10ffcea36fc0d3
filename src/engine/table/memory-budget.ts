/**
 * Memory that several caches share. Whoever must have memory spends it, and those
 * that can do without are told when there is none left.
 */
export class MemoryBudget {
  readonly bytes: number;
  #spent = 0;
  #onShort: () => void = () => undefined;

  /** @param bytes How much there is. */
  constructor(bytes: number) {
    this.bytes = bytes;
  }

  /** What is left; less than nothing when more was spent than there is. */
  get left(): number {
    return this.bytes - this.#spent;
  }

  /** Has this called whenever more was spent than there is. */
  whenShort(work: () => void): void {
    this.#onShort = work;
  }

  spend(bytes: number): void {
    this.#spent += bytes;
    if (this.left < 0) this.#onShort();
  }

  refund(bytes: number): void {
    this.#spent -= bytes;
  }
}
