/** Size of a memory: that of the largest piece of a result. */
export const RESULT_PIECE_BYTES = 2 ** 19;
/** Frames of fewer bytes get memory of their own size. */
const LEAST_BYTES = RESULT_PIECE_BYTES / 4;
/** Most memories that wait for their next use. */
const MOST_FREE = 16;

/**
 * Memory for the pieces of results, used again once a piece was sent. It lies outside the heap, and V8 counts it as
 * heap: new memory for each piece has it collect all objects again and again, up to once for each 20 MiB.
 */
export class PieceMemory {
  readonly #free = new Set<ArrayBufferLike>();

  /** Memory for the bytes of a frame. Its former contents are still in it. */
  take(bytes: number): Buffer {
    if (bytes < LEAST_BYTES || bytes > RESULT_PIECE_BYTES) return Buffer.allocUnsafeSlow(bytes);
    const [free] = this.#free;
    if (free === undefined) return Buffer.allocUnsafeSlow(RESULT_PIECE_BYTES).subarray(0, bytes);
    this.#free.delete(free);
    return Buffer.from(free as ArrayBuffer, 0, bytes);
  }

  /** Returns the memory of a piece that nothing refers to any more. */
  give({ buffer }: Uint8Array): void {
    if (buffer.byteLength === RESULT_PIECE_BYTES && this.#free.size < MOST_FREE)
      this.#free.add(buffer);
  }
}
