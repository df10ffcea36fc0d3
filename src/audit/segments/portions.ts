import { basename, dirname, join } from 'node:path';
import type { RandomAccess } from '../../arrow/ipc/random-access.ts';
import { DamagedFile } from '../../arrow/sealed/file-seal.ts';
import { checkedAccess, PortionChecks, PortionSums } from '../../arrow/sealed/portion-checks.ts';
import { RecordFault } from '../record/decoding.ts';

/** Bytes of a portion of a segment: larger than those of tables, whose checksums are not text. */
const PORTION_BYTES = 2 ** 16;
/** Hexadecimal digits of a CRC-32. */
const DIGITS = 8;

/** A CRC-32 as eight hexadecimal digits. */
export function checksumText(checksum: number): string {
  return checksum.toString(16).padStart(DIGITS, '0');
}

/** Computes the CRC-32 of each portion of a segment while it is written. */
export class SegmentSums extends PortionSums {
  constructor() {
    super(PORTION_BYTES);
  }

  /** The checksums of all portions, eight hexadecimal digits each. */
  text(): string {
    return [...this.finish()].map(checksumText).join('');
  }
}

/** The checks of a segment that is open. Its readers share them. */
export class SegmentChecks {
  readonly #name: string;
  readonly #checks: PortionChecks;

  /**
   * @param path Of the segment, for errors.
   * @param size Of the file, in bytes.
   * @param text From `SegmentSums`.
   * @throws RecordFault if the file has not the size of the portions.
   */
  constructor(path: string, size: number, text: string) {
    this.#name = join(basename(dirname(path)), basename(path));
    const count = Math.ceil(size / PORTION_BYTES);
    const covered = text.length / DIGITS;
    if (count !== covered)
      throw this.#fault(`it has ${count} portions, and its seal covers ${covered}`);
    const sums = Uint32Array.from({ length: count }, (_, at) =>
      Number.parseInt(text.slice(at * DIGITS, (at + 1) * DIGITS), 16),
    );
    this.#checks = new PortionChecks(path, { contentBytes: size, sums }, PORTION_BYTES);
  }

  /**
   * An access that compares each portion before bytes of it are used for the first time. It throws
   * RecordFault if one does not match.
   */
  over(access: RandomAccess): RandomAccess {
    const compared = checkedAccess({ size: access.size, read: this.#whole(access) }, this.#checks);
    return {
      size: access.size,
      read: async (offset, length) => {
        try {
          return await compared.read(offset, length);
        } catch (error) {
          if (!(error instanceof DamagedFile)) throw error;
          throw this.#fault(`${error.part} does not match its checksum`);
        }
      },
    };
  }

  /** Reads that are never short: a file that was cut since it was opened is damaged. */
  #whole(access: RandomAccess): RandomAccess['read'] {
    return async (offset, length) => {
      const bytes = await access.read(offset, length);
      const end = Math.min(offset + length, access.size);
      if (offset + bytes.length < end)
        throw this.#fault(`it ends at byte ${offset + bytes.length}`);
      return bytes;
    };
  }

  #fault(what: string): RecordFault {
    return new RecordFault(`the segment ${this.#name} is damaged: ${what}`);
  }
}
