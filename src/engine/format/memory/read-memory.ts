/** Shorter reads get memory of their own. */
const SMALLEST = 2 ** 16;
/** New memory is a multiple of this, so that reads of about the same length can share it. */
const STEP = 2 ** 18;
/** So much is kept for the next reads, in bytes. */
const MOST_KEPT = 2 ** 26;

/**
 * Memory that files are read into, used again. To take fresh memory for each
 * read is dear: the system clears it first, and since reads outlive the young
 * generation, the garbage collector marks everything each time that some of it
 * was dropped. Memory that nobody gives back is collected like any other.
 *
 * Bodies of requests die young and are not put here: measured, inserts
 * then need up to twice the processor time.
 */
export class ReadMemory {
  readonly #kept: ArrayBuffer[] = [];
  readonly #lent = new WeakSet<ArrayBufferLike>();
  #bytes = 0;

  /** So many bytes. What stood in them before is still there. */
  take(length: number): Uint8Array {
    if (length < SMALLEST) return new Uint8Array(length);
    const memory = this.#fitting(length) ?? new ArrayBuffer(Math.ceil(length / STEP) * STEP);
    this.#lent.add(memory);
    return new Uint8Array(memory, 0, length);
  }

  /** Takes memory back that nobody looks at any more. Does nothing for memory that was not lent. */
  giveBack(memory: ArrayBufferLike): void {
    if (!(memory instanceof ArrayBuffer) || !this.#lent.delete(memory)) return;
    if (this.#bytes + memory.byteLength > MOST_KEPT) return;
    this.#kept.push(memory);
    this.#bytes += memory.byteLength;
  }

  /** Keeps nothing of what was given back. */
  drop(): void {
    this.#kept.length = 0;
    this.#bytes = 0;
  }

  /** The memory that was given back last and is long enough, but not more than twice as long. */
  #fitting(length: number): ArrayBuffer | undefined {
    const index = this.#kept.findLastIndex(
      ({ byteLength }) => byteLength >= length && byteLength <= 2 * length + STEP,
    );
    if (index < 0) return undefined;
    const [memory] = this.#kept.splice(index, 1);
    this.#bytes -= memory!.byteLength;
    return memory;
  }
}

/** Memory that is taken piece by piece, for one batch, and given back at once. */
export class Lease {
  readonly #memory: ReadMemory;
  #lent: ArrayBufferLike[] = [];

  constructor(memory: ReadMemory) {
    this.#memory = memory;
  }

  take(length: number): Uint8Array {
    const bytes = this.#memory.take(length);
    this.#lent.push(bytes.buffer);
    return bytes;
  }

  /** To be called when nothing that was taken is looked at any more. */
  release(): void {
    for (const memory of this.#lent) this.#memory.giveBack(memory);
    this.#lent = [];
  }
}

/**
 * The result of some work on each item, in the order of the items. Work on so
 * many items continues while an earlier result is being used; none is begun ahead
 * when `ahead` is 0. Who leaves early waits until no work is in progress.
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
      // A fault is told when its result is due, and to nobody when none is waited for.
      result.catch(() => undefined);
      begun.push(result);
      if (begun.length > ahead) yield await begun.shift()!;
    }
    while (begun.length > 0) yield await begun.shift()!;
  } finally {
    await Promise.allSettled(begun);
  }
}
