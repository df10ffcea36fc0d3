import { hintCollection } from './memory-budget.ts';

/** Shorter reads get new memory. */
const SMALLEST = 2 ** 16;
/** New memory is a multiple of this size, so that reads of similar length can share it. */
const STEP = 2 ** 18;
/** Most bytes that are kept for later reads. */
const MOST_KEPT = 2 ** 26;
/** How long returned memory is kept after the last return, in ms. */
const UNUSED_MILLIS = 10_000;

/**
 * Memory that files are read into, used again. To take fresh memory for each
 * read is dear: the system clears it first, and since reads outlive the young
 * generation, the garbage collector marks everything each time that some of it
 * was dropped. Memory that nobody gives back is collected like any other.
 */
export class ReadMemory {
  readonly #buffers: ArrayBuffer[] = [];
  readonly #lent = new WeakSet<ArrayBufferLike>();
  #bytes = 0;
  /** Bytes of new memory since the last collection was hinted at. */
  #made = 0;
  readonly #unused = setTimeout(() => this.#clear(), UNUSED_MILLIS).unref();

  /** Memory of the given length. Its former contents are still in it. */
  take(length: number): Uint8Array<ArrayBuffer> {
    if (length < SMALLEST) return new Uint8Array(length);
    const memory = this.#fitting(length) ?? this.#make(Math.ceil(length / STEP) * STEP);
    this.#lent.add(memory);
    return new Uint8Array(memory, 0, length);
  }

  /** Returns memory that is no longer used. Ignores memory that was not lent. */
  giveBack(memory: ArrayBufferLike): void {
    if (!(memory instanceof ArrayBuffer) || !this.#lent.delete(memory)) return;
    if (this.#bytes + memory.byteLength > MOST_KEPT) return;
    this.#buffers.push(memory);
    this.#bytes += memory.byteLength;
    this.#unused.refresh();
  }

  /** Drops all returned memory. */
  drop(): void {
    this.#buffers.length = 0;
    this.#bytes = 0;
  }

  #make(length: number): ArrayBuffer {
    this.#made += length;
    this.#unused.refresh();
    return new ArrayBuffer(length);
  }

  /** Drops memory that nothing has used for a while, and has it collected. */
  #clear(): void {
    this.drop();
    hintCollection(this.#made);
    this.#made = 0;
  }

  /** The last returned memory that is long enough, but at most twice as long. */
  #fitting(length: number): ArrayBuffer | undefined {
    const index = this.#buffers.findLastIndex(
      ({ byteLength }) => byteLength >= length && byteLength <= 2 * length + STEP,
    );
    if (index < 0) return undefined;
    const [memory] = this.#buffers.splice(index, 1);
    this.#bytes -= memory?.byteLength ?? 0;
    return memory;
  }
}

/** Memory that is taken piece by piece for one batch and returned at once. */
export class MemoryLease {
  readonly #memory: ReadMemory;
  #lent: ArrayBufferLike[] = [];

  constructor(memory: ReadMemory) {
    this.#memory = memory;
  }

  /** Whether no memory is lent. */
  get isEmpty(): boolean {
    return this.#lent.length === 0;
  }

  take(length: number): Uint8Array {
    const bytes = this.#memory.take(length);
    this.#lent.push(bytes.buffer);
    return bytes;
  }

  /** Returns all memory that was taken. Call it once nothing uses the memory any more. */
  release(): void {
    for (const memory of this.#lent) this.#memory.giveBack(memory);
    this.#lent = [];
  }
}

/**
 * Runs a function on each item and yields the results in order. Up to `ahead` runs continue while
 * an earlier result is used. If the consumer leaves early, the runs in progress are awaited.
 */
export async function* workAhead<Item, Result>(
  items: Iterable<Item> | AsyncIterable<Item>,
  ahead: number,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const begun: Promise<Result>[] = [];
  try {
    for await (const item of items) {
      const result = work(item);
      // An error is thrown when its result is due, and ignored if the result is never requested.
      result.catch(() => undefined);
      begun.push(result);
      if (begun.length > ahead) yield await begun.shift()!;
    }
    while (begun.length > 0) yield await begun.shift()!;
  } finally {
    await Promise.allSettled(begun);
  }
}
