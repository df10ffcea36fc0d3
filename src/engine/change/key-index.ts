import type { KeyWriter } from './key-writer.ts';

/** Called before memory is allocated, in bytes; refuses by throwing. */
type Charge = (bytes: number) => void;

const free: Charge = () => undefined;

/** A list of 32-bit numbers that grows. */
export class GrowingWords {
  readonly #charge: Charge;
  #words = new Uint32Array(64);
  #length = 0;

  constructor(charge: Charge = free) {
    this.#charge = charge;
  }

  get length(): number {
    return this.#length;
  }

  at(index: number): number {
    return this.#words[index]!;
  }

  set(index: number, value: number): void {
    this.#words[index] = value;
  }

  push(value: number): void {
    this.#reserve(1);
    this.#words[this.#length++] = value;
  }

  /** Adds the first words of a list. */
  append(words: Uint32Array, count: number): void {
    this.#reserve(count);
    for (let index = 0; index < count; index++) this.#words[this.#length + index] = words[index]!;
    this.#length += count;
  }

  /** The numbers themselves, until the list grows. */
  view(): Uint32Array {
    return this.#words.subarray(0, this.#length);
  }

  clear(): void {
    this.#length = 0;
  }

  #reserve(count: number): void {
    const needed = this.#length + count;
    if (needed <= this.#words.length) return;
    const length = Math.max(needed, 2 * this.#words.length);
    this.#charge(4 * (length - this.#words.length));
    const words = new Uint32Array(length);
    words.set(this.view());
    this.#words = words;
  }
}

/** The number of a missing key or row. */
export const NONE = 0xffff_ffff;

/**
 * Numbers the keys of rows: equal keys have the same number. A key takes about
 * twenty bytes beside its own.
 */
export class KeyIndex {
  readonly #seed = Math.floor(Math.random() * 2 ** 32);
  readonly #charge: Charge;
  readonly #hashes: GrowingWords;
  /** Offset and number of words of each key. */
  readonly #starts: GrowingWords;
  readonly #counts: GrowingWords;
  readonly #words: GrowingWords;
  #slots = new Uint32Array(1024).fill(NONE);

  constructor(charge: Charge = free) {
    this.#charge = charge;
    this.#hashes = new GrowingWords(charge);
    this.#starts = new GrowingWords(charge);
    this.#counts = new GrowingWords(charge);
    this.#words = new GrowingWords(charge);
  }

  /** Number of distinct keys. */
  get size(): number {
    return this.#hashes.length;
  }

  /** The number of a key; the next one if it is new. */
  add(key: KeyWriter): number {
    if (2 * this.size >= this.#slots.length) this.#grow();
    const hash = this.#hash(key);
    const slot = this.#slot(key, hash);
    const found = this.#slots[slot]!;
    if (found !== NONE) return found;
    const number = this.size;
    this.#slots[slot] = number;
    this.#hashes.push(hash);
    this.#starts.push(this.#words.length);
    this.#counts.push(key.count);
    this.#words.append(key.words, key.count);
    return number;
  }

  /** The number of a key, `NONE` when it is not there. */
  find(key: KeyWriter): number {
    return this.#slots[this.#slot(key, this.#hash(key))]!;
  }

  /** The slot that holds the key, or the free one where it would go. */
  #slot(key: KeyWriter, hash: number): number {
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    for (;;) {
      const number = this.#slots[slot]!;
      if (number === NONE) return slot;
      if (this.#hashes.at(number) === hash && this.#equals(number, key)) return slot;
      slot = (slot + 1) & mask;
    }
  }

  #equals(number: number, key: KeyWriter): boolean {
    const { words, count } = key;
    if (this.#counts.at(number) !== count) return false;
    const start = this.#starts.at(number);
    for (let at = 0; at < count; at++) {
      if (this.#words.at(start + at) !== words[at]) return false;
    }
    return true;
  }

  #hash({ words, count }: KeyWriter): number {
    let hash = this.#seed ^ count;
    for (let at = 0; at < count; at++) {
      hash = Math.imul(hash ^ words[at]!, 0x9e37_79b1);
      hash ^= hash >>> 15;
    }
    hash = Math.imul(hash ^ (hash >>> 13), 0x85eb_ca6b);
    return (hash ^ (hash >>> 16)) >>> 0;
  }

  #grow(): void {
    this.#charge(4 * this.#slots.length);
    const slots = new Uint32Array(2 * this.#slots.length).fill(NONE);
    const mask = slots.length - 1;
    for (let number = 0; number < this.size; number++) {
      let slot = this.#hashes.at(number) & mask;
      while (slots[slot] !== NONE) slot = (slot + 1) & mask;
      slots[slot] = number;
    }
    this.#slots = slots;
  }
}
