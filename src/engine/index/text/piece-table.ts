/** Values of pieces that are not in the table. */
export const UNKNOWN = -1;

/** Limits of pieces and of their bytes: a full table begins anew. */
const MOST_PIECES = 2 ** 19;
const MOST_BYTES = 2 ** 24;

/** Of each entry: hash, start and length of the piece in the bytes of all pieces, and value. */
const FIELDS = 4;

/** Pieces that would be further from their place, as those chosen for their hash, are not added. */
const MOST_STEPS = 32;

/** First value of a hash, and the factor by which each byte changes it (FNV-1a). */
export const HASH_START = 0x811c9dc5 | 0;
export const HASH_FACTOR = 0x01000193;

/** Integers by pieces of bytes: a table with open addressing, without an object for each piece. */
export class PieceTable {
  /** Number of the entry plus one; 0 for none. At most half of them are taken. */
  #slots = new Int32Array(2 ** 12);
  #entries = new Int32Array(FIELDS * 2 ** 11);
  #count = 0;
  #bytes = new Uint8Array(2 ** 14);
  #length = 0;

  /**
   * The value of a piece; `UNKNOWN` if it has none.
   * @param hash Hash of its bytes.
   */
  find(bytes: Uint8Array, start: number, end: number, hash: number): number {
    const slots = this.#slots;
    const entries = this.#entries;
    const mask = slots.length - 1;
    const place = placeOf(hash);
    for (let step = 0; step < MOST_STEPS; step++) {
      const entry = slots[(place + step) & mask]!;
      if (entry === 0) return UNKNOWN;
      const at = (entry - 1) * FIELDS;
      if (entries[at] !== hash || entries[at + 2] !== end - start) continue;
      if (this.#isEqual(entries[at + 1]!, bytes, start, end)) return entries[at + 3]!;
    }
    return UNKNOWN;
  }

  /** Adds a piece that is not in the table, if there is room near its place. */
  add(bytes: Uint8Array, start: number, end: number, hash: number, value: number): void {
    if (this.#count === MOST_PIECES || this.#length + end - start > MOST_BYTES) this.#clear();
    if (2 * (this.#count + 1) > this.#slots.length) this.#grow();
    while (this.#length + end - start > this.#bytes.length) this.#bytes = doubled(this.#bytes);
    const at = this.#count * FIELDS;
    this.#entries.set([hash, this.#length, end - start, value], at);
    this.#bytes.set(bytes.subarray(start, end), this.#length);
    this.#length += end - start;
    this.#count++;
    this.#place(hash, this.#count);
  }

  #isEqual(at: number, bytes: Uint8Array, start: number, end: number): boolean {
    const own = this.#bytes;
    for (let next = start; next < end; next++) {
      if (own[at + next - start] !== bytes[next]) return false;
    }
    return true;
  }

  #place(hash: number, entry: number): void {
    const slots = this.#slots;
    const mask = slots.length - 1;
    const place = placeOf(hash);
    for (let step = 0; step < MOST_STEPS; step++) {
      const slot = (place + step) & mask;
      if (slots[slot] !== 0) continue;
      slots[slot] = entry;
      return;
    }
  }

  #grow(): void {
    this.#slots = new Int32Array(2 * this.#slots.length);
    this.#entries = doubled(this.#entries);
    for (let entry = 0; entry < this.#count; entry++) {
      this.#place(this.#entries[entry * FIELDS]!, entry + 1);
    }
  }

  #clear(): void {
    this.#slots.fill(0);
    this.#count = 0;
    this.#length = 0;
  }
}

/** The upper bits decide as well as the lower ones. */
function placeOf(hash: number): number {
  return hash ^ (hash >>> 15);
}

function doubled<Numbers extends Int32Array | Uint8Array>(numbers: Numbers): Numbers {
  const Type = numbers.constructor as new (length: number) => Numbers;
  const wider = new Type(2 * numbers.length);
  wider.set(numbers);
  return wider;
}
