import type { AuditRecord } from '../record/record.ts';

/** Size of a block of records, in bytes. */
const BLOCK_BYTES = 2 ** 16;
/** Size of the length before each record, in bytes. */
const LENGTH_BYTES = 4;
/** Added to the length of a record whose other half is in the same block. */
const PAIRED = 2 ** 31;
/** Maximum bytes of UTF-8 for a UTF-16 code unit. */
const WIDEST = 3;
/** Maximum number of free blocks: as many as are written between two syncs. */
const FREE_BLOCKS = 80;

/** The attempt or the outcome of a request. */
export type RequestHalf = Pick<AuditRecord, 'phase' | 'decision_id'>;

/**
 * Texts of records as bytes of one buffer. Records that no caller awaits stay in memory for a
 * while. As strings, the garbage collector would copy each of them; it does not copy a buffer.
 */
export class RecordBlock {
  readonly #memory: Buffer;
  /** Where the lengths of the attempts without an outcome in this block are, by their decisions. */
  readonly #attempts = new Map<string, number>();
  #end = 0;
  #count = 0;

  constructor(memory: Buffer) {
    this.#memory = memory;
  }

  /** Adds a record with its text. @returns False if it may not fit. */
  add(record: RequestHalf, text: string): boolean {
    const start = this.#end + LENGTH_BYTES;
    if (start + WIDEST * text.length > this.#memory.length) return false;
    const length = this.#memory.write(text, start);
    this.#memory.writeUInt32LE(length + (this.#isPaired(record) ? PAIRED : 0), this.#end);
    this.#end = start + length;
    this.#count += 1;
    return true;
  }

  /** Whether the attempt of an outcome is in this block; that is marked, too. */
  #isPaired({ phase, decision_id }: RequestHalf): boolean {
    if (phase === 'attempt') {
      this.#attempts.set(decision_id, this.#end);
      return false;
    }
    const attempt = this.#attempts.get(decision_id);
    if (attempt === undefined) return false;
    this.#attempts.delete(decision_id);
    this.#memory.writeUInt32LE(this.#memory.readUInt32LE(attempt) + PAIRED, attempt);
    return true;
  }

  get count(): number {
    return this.#count;
  }

  get bytes(): Uint8Array {
    return this.#memory.subarray(0, this.#end);
  }
}

/**
 * Calls a function with the text of each record of a block, as bytes, and with whether the block holds both the
 * attempt and the outcome of its request.
 */
export function visitRecords(
  block: Uint8Array,
  visit: (text: Uint8Array, isPaired: boolean) => void,
): void {
  const lengths = new DataView(block.buffer, block.byteOffset, block.byteLength);
  for (let at = 0; at < block.length;) {
    const start = at + LENGTH_BYTES;
    const length = lengths.getUint32(at, true);
    const isPaired = length >= PAIRED;
    at = start + (isPaired ? length - PAIRED : length);
    visit(block.subarray(start, at), isPaired);
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
