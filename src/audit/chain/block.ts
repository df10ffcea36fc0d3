/** Size of a block of records, in bytes. */
const BLOCK_BYTES = 2 ** 16;
/** Size of the length before each record, in bytes. */
const LENGTH_BYTES = 4;
/** Maximum bytes of UTF-8 for a UTF-16 code unit. */
const WIDEST = 3;
/** Maximum number of free blocks: as many as are written between two syncs. */
const FREE_BLOCKS = 80;

/**
 * Texts of records as bytes of one buffer. Records that no caller awaits stay in memory for a
 * while. As strings, the garbage collector would copy each of them; it does not copy a buffer.
 */
export class RecordBlock {
  readonly #memory: Buffer;
  #end = 0;
  #count = 0;

  constructor(memory: Buffer) {
    this.#memory = memory;
  }

  /** Adds the text of a record. @returns False if it may not fit. */
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

/** Reused memory of blocks. */
export class BlockMemory {
  readonly #bytes: number;
  readonly #free: ArrayBufferLike[] = [];

  /** @param most Maximum size of a block, in bytes. */
  constructor(most: number) {
    this.#bytes = Math.min(most, BLOCK_BYTES);
  }

  /** An empty block. */
  take(): RecordBlock {
    const memory = this.#free.pop();
    return new RecordBlock(
      memory === undefined ? Buffer.allocUnsafeSlow(this.#bytes) : Buffer.from(memory),
    );
  }

  /** Reclaims the memory of a block whose records are no longer needed. */
  free(block: Uint8Array): void {
    if (this.#free.length < FREE_BLOCKS) this.#free.push(block.buffer);
  }
}
