/** Size of a block of records, in bytes. */
const BLOCK_BYTES = 2 ** 16;
/** Each record stands behind its length. */
const LENGTH_BYTES = 4;
/** Bytes of UTF-8 that a character of a text takes at most. */
const WIDEST = 3;
/** How many blocks without records are kept for the next ones: as many as are written between two syncs. */
const KEPT_BLOCKS = 80;

/**
 * The texts of some records as bytes. Records that nobody waits for stay in memory for a while:
 * as so many strings each of them would be copied by the garbage collector before it can be
 * forgotten, as bytes of one block nothing of them is.
 */
export class RecordBlock {
  readonly #memory: Buffer;
  #end = 0;
  #count = 0;

  constructor(memory: Buffer) {
    this.#memory = memory;
  }

  /** Adds the text of a record; false where it may not fit any more. */
  add(text: string): boolean {
    const start = this.#end + LENGTH_BYTES;
    if (start + WIDEST * text.length > this.#memory.length) return false;
    const length = this.#memory.write(text, start);
    this.#memory.writeUInt32LE(length, this.#end);
    this.#end = start + length;
    this.#count += 1;
    return true;
  }

  get count(): number {
    return this.#count;
  }

  get bytes(): Uint8Array {
    return this.#memory.subarray(0, this.#end);
  }
}

/** The texts of the records of a block, as bytes. */
export function* recordsOfBlock(block: Uint8Array): Generator<Uint8Array> {
  const lengths = new DataView(block.buffer, block.byteOffset, block.byteLength);
  for (let at = 0; at < block.length;) {
    const start = at + LENGTH_BYTES;
    at = start + lengths.getUint32(at, true);
    yield block.subarray(start, at);
  }
}

/** Memory for blocks, which is used again. */
export class BlockMemory {
  readonly #bytes: number;
  readonly #free: ArrayBufferLike[] = [];

  /** @param most Bytes that no block is larger than. */
  constructor(most: number) {
    this.#bytes = Math.min(most, BLOCK_BYTES);
  }

  /** A block without records. */
  take(): RecordBlock {
    const memory = this.#free.pop();
    return new RecordBlock(
      memory === undefined ? Buffer.allocUnsafeSlow(this.#bytes) : Buffer.from(memory),
    );
  }

  /** Reclaims the memory of a block whose records are no longer needed. */
  free(block: Uint8Array): void {
    if (this.#free.length < KEPT_BLOCKS) this.#free.push(block.buffer);
  }
}
