/** Most pieces that are kept for later answers. */
const MOST_PIECES = 128;

/** Size of the pieces that are copies, in bytes. */
export const ANSWER_PIECE_BYTES = 2 ** 15;

/** Most bytes of the cache that connections refer to, each memory counted once. */
const MOST_VIEWED = 2 ** 26;

/**
 * The pieces in which answers are handed to their connections: views of cached columns, and copies of
 * everything else. A connection keeps a piece until its client has read it, and a view keeps its whole
 * column. So views are bounded: a column that gives way in the cache meanwhile takes memory beside it.
 */
export class AnswerPieces {
  readonly #pieces: Uint8Array[] = [];
  /** Number of views by memory. */
  readonly #viewed = new Map<ArrayBufferLike, number>();
  readonly #mostViewed: number;
  #viewedBytes = 0;

  /** @param mostViewed Most bytes of memory that has views. A single memory may have more. */
  constructor(mostViewed = MOST_VIEWED) {
    this.#mostViewed = mostViewed;
  }

  /** Memory for a copy. Its former contents are still in it. */
  copy(): Uint8Array {
    return this.#pieces.pop() ?? new Uint8Array(ANSWER_PIECE_BYTES);
  }

  /** Returns the memory of a copy that nothing uses any more. */
  giveCopy({ buffer }: Uint8Array): void {
    if (buffer.byteLength !== ANSWER_PIECE_BYTES || this.#pieces.length >= MOST_PIECES) return;
    this.#pieces.push(new Uint8Array(buffer));
  }

  /** Counts a view of some memory. Returns false if there must be none. */
  view(memory: ArrayBufferLike): boolean {
    const views = this.#viewed.get(memory) ?? 0;
    if (views === 0) {
      const bytes = this.#viewedBytes + memory.byteLength;
      if (bytes > this.#mostViewed && this.#viewedBytes > 0) return false;
      this.#viewedBytes = bytes;
    }
    this.#viewed.set(memory, views + 1);
    return true;
  }

  /** Notes that nothing uses a view any more. */
  giveView({ buffer }: Uint8Array): void {
    const views = this.#viewed.get(buffer) ?? 0;
    if (views > 1) {
      this.#viewed.set(buffer, views - 1);
      return;
    }
    if (this.#viewed.delete(buffer)) this.#viewedBytes -= buffer.byteLength;
  }
}
