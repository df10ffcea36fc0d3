import { textBytes, type TextBytes } from '../../base/text-bytes.ts';

/** Values of pieces that are not in the table. */
export const UNKNOWN = -1;

/** Limits of pieces and of the bytes of longer ones: a full table begins anew. */
const MOST_PIECES = 2 ** 19;
const MOST_BYTES = 2 ** 24;

/**
 * Of each slot: the first and the last four bytes of the piece, its length with the place of its bytes, and its value.
 * The third is 0 in free slots.
 */
const FIELDS = 4;

/** Pieces of up to this many bytes have no other than their first and last four. */
const SHORT = 8;

/** Longer pieces are not added. */
const LONGEST = 127;
const LENGTH_BITS = 7;

/** Pieces that would be further from their place, as those chosen for their hash, are not added. */
const MOST_STEPS = 32;

/** More places than a table has. */
const PLACES = 2 ** 24 - 1;

/** Factors of a hash. */
const FIRST_FACTOR = 0x9e3779b1;
const LAST_FACTOR = 0x85ebca6b;

/** Integers by pieces of bytes: a table with open addressing, without an object for each piece. */
export class PieceTable {
  /** At most half of the slots are taken. */
  #slots = new Int32Array(FIELDS * 2 ** 12);
  #count = 0;
  /** Bytes of pieces that are not short. */
  #long = textBytes(new Uint8Array(2 ** 14));
  #length = 0;

  /** The value of a piece of at least one byte; `UNKNOWN` if it has none. */
  find(text: TextBytes, start: number, end: number): number {
    const length = end - start;
    const first = firstBytes(text, start, length);
    const last = lastBytes(text, end, length);
    const slots = this.#slots;
    const mask = slots.length - FIELDS;
    let at = placeOf(hashOf(text, start, end, first, last)) & mask;
    for (let step = 0; step < MOST_STEPS; step++, at = (at + FIELDS) & mask) {
      const held = slots[at + 2]!;
      if (held === 0) return UNKNOWN;
      if (slots[at] !== first || slots[at + 1] !== last || (held & LONGEST) !== length) continue;
      if (length <= SHORT || this.#isEqual(held >>> LENGTH_BITS, text.bytes, start, end)) {
        return slots[at + 3]!;
      }
    }
    return UNKNOWN;
  }

  /** Adds a piece that is not in the table, if it is not long and there is room near its place. */
  add(text: TextBytes, start: number, end: number, value: number): void {
    const length = end - start;
    if (length > LONGEST) return;
    if (this.#count === MOST_PIECES || this.#length + length > MOST_BYTES) this.clear();
    if (2 * FIELDS * (this.#count + 1) > this.#slots.length) this.#grow();
    const first = firstBytes(text, start, length);
    const last = lastBytes(text, end, length);
    const place = placeOf(hashOf(text, start, end, first, last));
    this.#place(place, first, last, length | (this.#length << LENGTH_BITS), value);
    this.#count++;
    if (length > SHORT) this.#keep(text.bytes.subarray(start, end));
  }

  /** Removes all pieces. */
  clear(): void {
    this.#slots.fill(0);
    this.#count = 0;
    this.#length = 0;
  }

  #keep(piece: Uint8Array): void {
    const { bytes } = this.#long;
    if (this.#length + piece.length > bytes.length) {
      const wider = new Uint8Array(2 * bytes.length);
      wider.set(bytes);
      this.#long = textBytes(wider);
    }
    this.#long.bytes.set(piece, this.#length);
    this.#length += piece.length;
  }

  #isEqual(at: number, bytes: Uint8Array, start: number, end: number): boolean {
    const own = this.#long.bytes;
    for (let next = start; next < end; next++) {
      if (own[at + next - start] !== bytes[next]) return false;
    }
    return true;
  }

  #place(place: number, first: number, last: number, held: number, value: number): void {
    const slots = this.#slots;
    const mask = slots.length - FIELDS;
    let at = place & mask;
    for (let step = 0; step < MOST_STEPS; step++, at = (at + FIELDS) & mask) {
      if (slots[at + 2] !== 0) continue;
      slots[at] = first;
      slots[at + 1] = last;
      slots[at + 2] = held;
      slots[at + 3] = value;
      return;
    }
  }

  #grow(): void {
    const old = this.#slots;
    this.#slots = new Int32Array(2 * old.length);
    for (let at = 0; at < old.length; at += FIELDS) {
      const [first, last, held, value] = [old[at]!, old[at + 1]!, old[at + 2]!, old[at + 3]!];
      if (held === 0) continue;
      const start = held >>> LENGTH_BITS;
      const hash = hashOf(this.#long, start, start + (held & LONGEST), first, last);
      this.#place(placeOf(hash), first, last, held, value);
    }
  }
}

/** The first four bytes of a piece, or all of a shorter one. */
function firstBytes({ bytes, view }: TextBytes, start: number, length: number): number {
  if (length >= 4) return view.getInt32(start, true);
  const second = length > 1 ? bytes[start + 1]! << 8 : 0;
  return bytes[start]! | second | (length > 2 ? bytes[start + 2]! << 16 : 0);
}

/** The last four bytes of a piece; 0 of a shorter one. */
function lastBytes({ view }: TextBytes, end: number, length: number): number {
  return length >= 4 ? view.getInt32(end - 4, true) : 0;
}

/** The bytes between the first and the last ones change it too. */
function hashOf({ view }: TextBytes, start: number, end: number, first: number, last: number) {
  let hash = Math.imul(first, FIRST_FACTOR) ^ Math.imul(last + end - start, LAST_FACTOR);
  for (let at = start + 4; at < end - 4; at += 4) {
    hash = Math.imul(hash ^ view.getInt32(at, true), FIRST_FACTOR);
  }
  return hash;
}

/** The upper bits decide as well as the lower ones. */
function placeOf(hash: number): number {
  return FIELDS * ((hash ^ (hash >>> 15)) & PLACES);
}
