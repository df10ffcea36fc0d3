import type { Stored } from '../../format/records.ts';

/** Maximum number of cached records; the least recently decoded one is evicted first. */
const REMEMBERED = 4096;

/**
 * Decodes the records of a store. One that is read again with the same bytes is the
 * same object, so that what was made of it can be kept beside it.
 */
export class DecodedRecords<Content> {
  readonly #decode: (value: Uint8Array) => Content;
  readonly #cache = new Map<string, Stored<Content>>();

  /** @param decode Its result must not be modified. */
  constructor(decode: (value: Uint8Array) => Content) {
    this.#decode = decode;
  }

  /** The record of a key whose value was read just now. */
  of(key: string, value: Uint8Array): Stored<Content> {
    const cached = this.#cache.get(key);
    if (cached !== undefined && isSame(cached.value, value)) return cached;
    const stored = { key, value, content: this.#decode(value) };
    this.#cache.delete(key);
    this.#cache.set(key, stored);
    if (this.#cache.size > REMEMBERED) this.#forgetOldest();
    return stored;
  }

  #forgetOldest(): void {
    for (const oldest of this.#cache.keys()) {
      this.#cache.delete(oldest);
      return;
    }
  }
}

function isSame(left: Uint8Array, right: Uint8Array): boolean {
  if (left === right) return true;
  return left.byteLength === right.byteLength && Buffer.compare(left, right) === 0;
}
