import type { Stored } from '../../format/records.ts';

/** So many records are remembered; the one that was decoded longest ago goes first. */
const REMEMBERED = 4096;

/**
 * Decodes the records of a store. One that is read again with the same bytes is the
 * same object, so that what was made of it can be kept beside it.
 */
export class DecodedRecords<Content> {
  readonly #decode: (value: Uint8Array) => Content;
  readonly #known = new Map<string, Stored<Content>>();

  /** @param decode Gives what nobody changes. */
  constructor(decode: (value: Uint8Array) => Content) {
    this.#decode = decode;
  }

  /** The record of a key whose value was read just now. */
  of(key: string, value: Uint8Array): Stored<Content> {
    const known = this.#known.get(key);
    if (known !== undefined && isSame(known.value, value)) return known;
    const stored = { key, value, content: this.#decode(value) };
    this.#known.delete(key);
    this.#known.set(key, stored);
    if (this.#known.size > REMEMBERED) this.#forgetOldest();
    return stored;
  }

  #forgetOldest(): void {
    for (const oldest of this.#known.keys()) {
      this.#known.delete(oldest);
      return;
    }
  }
}

function isSame(left: Uint8Array, right: Uint8Array): boolean {
  if (left === right) return true;
  return left.byteLength === right.byteLength && Buffer.compare(left, right) === 0;
}
