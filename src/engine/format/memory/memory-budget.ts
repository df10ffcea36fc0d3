/**
 * Released memory is reserved for this time in ms: similar work often follows, and caches fill
 * slowly.
 */
const LINGER_MILLIS = 10_000;

/**
 * Memory that work holds while it runs, counted against a budget that others
 * share: they give way to it, and get it back when none has run for a while.
 */
export class MemoryReservation {
  readonly #budget: MemoryBudget;
  readonly #lingerMillis: number;
  /** Memory held by running work. */
  #held = 0;
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

/** Dropped bytes that are worth a garbage collection. */
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
    // If the machine cannot allocate that much, the hint is omitted.
  }
}

/** Counts memory that is made for each batch and never given back, and has it collected now and then. */
export class DroppedMemory {
  readonly #hintBytes: number;
  #bytes = 0;

  /** @param hintBytes Bytes between two hints. */
  constructor(hintBytes = 2 * MUCH) {
    this.#hintBytes = hintBytes;
  }

  add(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes < this.#hintBytes) return;
    hintCollection(this.#bytes);
    this.#bytes = 0;
  }
}

/**
 * Memory shared by several caches. Required memory is spent at once; optional users are notified when
 * none is left.
 */
export class MemoryBudget {
  readonly bytes: number;
  #spent = 0;
  #onShort: () => void = () => undefined;

  /** @param bytes How much there is. */
  constructor(bytes: number) {
    this.bytes = bytes;
  }

  /** Remaining bytes; negative if overspent. */
  get left(): number {
    return this.bytes - this.#spent;
  }

  /** Registers a callback for overspending. */
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
