import type { PartHeader } from './part-header.ts';
import { POSTINGS_OF_BLOCK, type Numbers } from './postings.ts';
import type { WideBytes, Width } from './wide-bytes.ts';

/** Extremes of the blocks of postings, in memory that is used for one token after the other. */
export class BlockExtremes {
  readonly #lengths: Numbers;
  readonly #first: number;
  #mostCounts = new Uint32Array(64);
  #mostLengths = new Uint32Array(64);
  #otherLengths = new Uint32Array(64);
  /** Number of blocks. */
  count = 0;
  /** Number of tokens of the shortest row. */
  leastLength = 0;
  /** The greatest of the lengths. */
  longest = 0;

  constructor({ lengths, first }: Pick<PartHeader, 'lengths' | 'first'>) {
    this.#lengths = lengths;
    this.#first = first;
  }

  /**
   * Computes those of a token.
   * @param rows Rows from `start` on. @param counts Occurrences in each. @param most The greatest of these.
   */
  take(rows: Uint32Array, start: number, counts: Uint32Array, length: number, most: number): void {
    this.count = Math.ceil(length / POSTINGS_OF_BLOCK);
    this.#reserve(this.count);
    this.leastLength = Infinity;
    this.longest = 0;
    for (let block = 0; block < this.count; block++) {
      const at = block * POSTINGS_OF_BLOCK;
      const end = Math.min(length, at + POSTINGS_OF_BLOCK);
      if (most === 1) this.#single(block, rows, start + at, start + end);
      else this.#block(block, rows, start, counts, at, end);
      const [own, other] = [this.#mostLengths[block]!, this.#otherLengths[block]!];
      this.leastLength = Math.min(this.leastLength, own, other);
      this.longest = Math.max(this.longest, own, other);
    }
  }

  /** Writes what `take` computed. */
  write(to: WideBytes, at: number, countWidth: Width, lengthWidth: Width): void {
    let next = to.put(at, this.#mostCounts, 0, this.count, countWidth);
    next = to.put(next, this.#mostLengths, 0, this.count, lengthWidth);
    to.put(next, this.#otherLengths, 0, this.count, lengthWidth);
  }

  #reserve(blocks: number): void {
    if (blocks <= this.#mostCounts.length) return;
    this.#mostCounts = new Uint32Array(blocks);
    this.#mostLengths = new Uint32Array(blocks);
    this.#otherLengths = new Uint32Array(blocks);
  }

  /** A block of rows in which the token occurs once. */
  #single(block: number, rows: Uint32Array, start: number, end: number): void {
    const [lengths, first] = [this.#lengths, this.#first];
    let least = Infinity;
    for (let at = start; at < end; at++) {
      const own = lengths[rows[at]! - first]!;
      if (own < least) least = own;
    }
    this.#mostCounts[block] = 1;
    this.#mostLengths[block] = least;
    this.#otherLengths[block] = least;
  }

  #block(
    block: number,
    rows: Uint32Array,
    start: number,
    counts: Uint32Array,
    from: number,
    end: number,
  ): void {
    const [lengths, first] = [this.#lengths, this.#first];
    let [most, length, other] = [0, Infinity, Infinity];
    for (let at = from; at < end; at++) {
      const count = counts[at]!;
      const own = lengths[rows[start + at]! - first]!;
      if (count > most) {
        other = Math.min(length, other);
        most = count;
        length = own;
      } else if (count === most) length = Math.min(length, own);
      else other = Math.min(other, own);
    }
    this.#mostCounts[block] = most;
    this.#mostLengths[block] = length;
    this.#otherLengths[block] = other === Infinity ? length : other;
  }
}
