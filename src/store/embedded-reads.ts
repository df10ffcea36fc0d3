import type { Bytes } from './embedded-transaction.ts';
import { keyBytes } from './key.ts';

/** So many values are remembered, each of so many bytes at most. */
const REMEMBERED = 4096;
const LARGEST_BYTES = 2048;

/** A key as the file has it, and the value that it had when it was read last. */
interface Known {
  readonly key: Buffer;
  value: Buffer | undefined;
}

/**
 * Reads values out of the file. The file is asked each time; but where it has the bytes that it had
 * the last time, they are the same object again, and nothing is copied.
 */
export class EmbeddedReads {
  readonly #known = new Map<string, Known>();

  /**
   * The value of a key. Nobody may change it.
   * @throws StoreError key.
   */
  read(values: Bytes, key: string): Uint8Array | undefined {
    const known = this.#known.get(key) ?? this.#remember(key);
    // Memory that the package uses again for the next value. It may be longer than its length says.
    const found: Uint8Array | undefined = values.getBinaryFast(known.key);
    if (found === undefined) {
      known.value = undefined;
      return undefined;
    }
    if (known.value !== undefined && isSame(known.value, found)) return known.value;
    const value = Buffer.allocUnsafeSlow(found.length);
    value.set(found.subarray(0, found.length));
    known.value = value.byteLength > LARGEST_BYTES ? undefined : value;
    return value;
  }

  #remember(key: string): Known {
    const known: Known = { key: keyBytes(key), value: undefined };
    this.#known.set(key, known);
    if (this.#known.size > REMEMBERED) this.#forgetOldest();
    return known;
  }

  #forgetOldest(): void {
    for (const oldest of this.#known.keys()) {
      this.#known.delete(oldest);
      return;
    }
  }
}

function isSame(value: Buffer, found: Uint8Array): boolean {
  const { length } = found;
  return value.byteLength === length && value.compare(found, 0, length) === 0;
}
