import { closeSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf, StoreError } from '../store-error.ts';

const MIB = 2 ** 20;
/** What has to be free beside the bytes of a transaction, in bytes: others write to the disk as well. */
const SPARE_BYTES = 8 * MIB;
/** Pages per page of values: a value is in its table and in its change, and pages may be half full. */
const COPIES = 4;
const PAGE_BYTES = 4096;

/**
 * Whether the disk takes what a transaction writes. It is asked before LMDB begins, because LMDB
 * (lmdb 3.5.6) puts the sizes of a refused write into a text that is too short for them, which
 * damages the memory of the process.
 */
export class WriteRoom {
  readonly #folder: string;
  #doubtful = false;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Refuses a transaction that the disk may not take.
   * @param bytes Of the values that it writes.
   * @throws StoreError unavailable; nothing was written.
   */
  require(bytes: number): void {
    const needed = COPIES * bytes + SPARE_BYTES;
    try {
      const { bavail, bsize } = statfsSync(this.#folder);
      if (bavail * bsize < needed)
        throw new Error(`its disk has less than ${Math.ceil(needed / MIB)} MiB free`);
      if (this.#doubtful) this.#probe(needed);
      this.#doubtful = false;
    } catch (error) {
      const reason = `${this.#folder} cannot be written: ${messageOf(error)}`;
      throw new StoreError('unavailable', `nothing was written: ${reason}`);
    }
  }

  /** From now on nothing is written until a file of the size of the store can be. */
  doubt(): void {
    this.#doubtful = true;
  }

  /** Writes a page behind the end of what the store may have after the transaction. */
  #probe(needed: number): void {
    const path = join(this.#folder, 'write.probe');
    const end = statSync(join(this.#folder, 'data.mdb')).size + needed;
    const descriptor = openSync(path, 'w', 0o600);
    try {
      writeSync(descriptor, Buffer.alloc(PAGE_BYTES), 0, PAGE_BYTES, end);
    } finally {
      closeSync(descriptor);
      rmSync(path, { force: true });
    }
  }
}
