/** Bytes of batches after which young objects are collected. */
const YOUNG_BYTES = 2 ** 22;
/** Bytes outside the heap that are worth a collection of the whole heap. */
const OLD_BYTES = 2 ** 24;

/**
 * Returns the memory of batches that were sent. A batch lies outside the heap, where nothing but its object is
 * seen, so the collector would wait for 64 MiB of them and then look at the whole heap for milliseconds. Young
 * objects are collected within 0.1 ms.
 */
export class BatchMemory {
  /** Memory of the process in bytes from which all objects are collected after a read. */
  readonly #most: number;
  #bytes = 0;

  /** @param memory Memory of the process, in bytes. */
  constructor(memory: number) {
    this.#most = memory / 2;
  }

  /** Notes that a piece of a batch was sent. */
  sent(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes < YOUNG_BYTES) return;
    this.#bytes = 0;
    globalThis.gc?.({ type: 'minor' });
  }

  /** Returns what the batches of a read hold that has ended. */
  readEnded(): void {
    if (process.memoryUsage.rss() <= this.#most) return;
    if (process.memoryUsage().arrayBuffers > OLD_BYTES) globalThis.gc?.();
  }
}
