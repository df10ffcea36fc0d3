/** So long nobody else gets memory that was given up: work like it often follows, and caches fill slowly. */
const LINGER_MILLIS = 10_000;

/**
 * Memory that work holds while it runs, counted against a budget that others
 * share: they give way to it, and get it back when none has run for a while.
 */
export class MemoryReservation {
  readonly #budget: MemoryBudget;
  readonly #lingerMillis: number;
  /** What running work holds. */
  #held = 0;
  /** What is spent of the budget for it. */
  #spent = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param lingerMillis How long what was held is kept from others. */
  constructor(budget: MemoryBudget, lingerMillis = LINGER_MILLIS) {
    this.#budget = budget;
    this.#lingerMillis = lingerMillis;
  }

  /** Counts what some work holds from now on. What it gives is to be called once, when the work has ended. */
  hold(bytes: number): () => void {
    this.#held += bytes;
    const more = this.#held - this.#spent;
    if (more > 0) {
      this.#spent = this.#held;
      this.#budget.spend(more);
    }
    return () => {
      this.#held -= bytes;
      this.#refundLater();
    };
  }

  #refundLater(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#budget.refund(this.#spent - this.#held);
      this.#spent = this.#held;
    }, this.#lingerMillis).unref();
  }
}

/** So many bytes are worth a collection. */
const MUCH = 2 ** 24;

/** More than V8 lets buffers grow by since it collected last before it looks again: that is 64 MiB. */
const ENOUGH = 2 ** 27;

/**
 * Has memory of buffers that were just dropped collected soon, if it is much. V8
 * does so only when many more are made, and who dropped them may make none. A
 * buffer that nothing is written to counts as one, and takes no memory of the
 * machine.
 * @param dropped About how many bytes they had.
 */
export function hintCollection(dropped: number): void {
  if (dropped < MUCH) return;
  try {
    void new ArrayBuffer(ENOUGH);
  } catch {
    // A machine that does not give so much even unused goes without the hint.
  }
}

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
