import { readSync } from 'node:fs';
import type { RandomAccess } from '../arrow/random-access.ts';

const FIRST_BYTES = 2 ** 20;
/** Arrow's columns begin on such a boundary. */
const ALIGNMENT = 64;

/**
 * Reads a file into memory that is used again and again: what was read is good
 * until `reset`. It blocks, which is several times faster than to wait where the
 * file is in the system's memory.
 */
export class ScratchReads implements RandomAccess {
  readonly size: number;
  readonly #descriptor: number;
  #memory = Buffer.allocUnsafeSlow(FIRST_BYTES);
  #used = 0;
  #wanted = 0;

  constructor(descriptor: number, size: number) {
    this.#descriptor = descriptor;
    this.size = size;
  }

  /** What was read may be overwritten now. */
  reset(): void {
    if (this.#wanted > this.#memory.length) this.#memory = Buffer.allocUnsafeSlow(this.#wanted);
    this.#used = 0;
    this.#wanted = 0;
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    const bytes = this.#take(length);
    return bytes.subarray(0, readSync(this.#descriptor, bytes, 0, length, offset));
  }

  #take(length: number): Uint8Array {
    const room = Math.ceil(length / ALIGNMENT) * ALIGNMENT;
    this.#wanted += room;
    if (this.#used + room > this.#memory.length) {
      const { buffer, byteOffset } = Buffer.allocUnsafeSlow(length);
      return new Uint8Array(buffer, byteOffset, length);
    }
    const start = this.#memory.byteOffset + this.#used;
    this.#used += room;
    return new Uint8Array(this.#memory.buffer, start, length);
  }
}
