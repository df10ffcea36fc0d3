import { crc32 } from '@node-rs/crc32';
import { BlockExtremes } from './block-extremes.ts';
import type { PartHeader } from './part-header.ts';
import { HEADER, POSTINGS_OF_BLOCK, padded } from './postings.ts';
import { leastWidth, type WideBytes } from './wide-bytes.ts';

/** The occurrences of a token, between two places of those of all tokens. */
export interface Occurrences {
  /** Row of each, ascending. The memory is overwritten. */
  readonly rows: Uint32Array;
  /** Position of each in its row; null if positions are not indexed. */
  readonly positions: Uint32Array | null;
  readonly start: number;
  readonly end: number;
}

/** Encodes postings into memory of its caller, without an object for each token. */
export class PostingsEncoder {
  readonly #extremes: BlockExtremes;
  #counts = new Uint32Array(1024);
  #of: Occurrences = { rows: this.#counts, positions: null, start: 0, end: 0 };
  #rows = 0;
  #mostCount = 0;
  #mostPosition = 0;

  /** @param part The rows whose tokens are encoded. */
  constructor(part: Pick<PartHeader, 'lengths' | 'first'>) {
    this.#extremes = new BlockExtremes(part);
  }

  /** Reads the occurrences of a token, of which there is one. Returns the size of its postings in bytes. */
  take(occurrences: Occurrences): number {
    this.#of = occurrences;
    this.#countRows();
    const { rows, positions, start, end } = occurrences;
    this.#mostPosition = positions === null ? 0 : greatest(positions, start, end);
    this.#extremes.take(rows, start, this.#counts, this.#rows, this.#mostCount);
    const [countWidth, placeWidth, lengthWidth] = this.#widths();
    const blocks = lengthWidth === 0 ? 0 : this.#extremes.count;
    const size =
      HEADER +
      4 * this.#rows +
      padded(placeWidth * (end - start)) +
      padded(countWidth * this.#rows) +
      padded(countWidth * blocks) +
      2 * padded(lengthWidth * blocks);
    return padded(size, 8);
  }

  /** Writes the postings of the token. @param at A multiple of 8 in bytes, with room for the size. */
  write(to: WideBytes, at: number, size: number): void {
    const { rows, positions, start, end } = this.#of;
    const { words, bytes } = to;
    const [countWidth, placeWidth, lengthWidth] = this.#widths();
    const head = at / 4;
    words[head + 1] = this.#rows;
    words[head + 2] = positions === null ? 0 : end - start;
    words[head + 3] = this.#mostCount;
    words[head + 4] = this.#extremes.leastLength;
    words[head + 5] = countWidth | (placeWidth << 8) | (lengthWidth << 16);
    words[(at + size) / 4 - 1] = 0;
    let next = to.put(at + HEADER, rows, start, start + this.#rows, 4);
    if (positions !== null && placeWidth !== 0)
      next = to.put(next, positions, start, end, placeWidth);
    next = to.put(next, this.#counts, 0, this.#rows, countWidth);
    if (lengthWidth !== 0) this.#extremes.write(to, next, countWidth, lengthWidth);
    words[head] = crc32(bytes.subarray(at + 4, at + size));
  }

  /** Widths of counts, positions and lengths; 0 for what there is none of. */
  #widths() {
    return [
      leastWidth(this.#mostCount),
      this.#of.positions === null ? 0 : leastWidth(this.#mostPosition),
      this.#rows <= POSTINGS_OF_BLOCK ? 0 : leastWidth(this.#extremes.longest),
    ] as const;
  }

  /** The distinct rows replace those of the occurrences. */
  #countRows(): void {
    const { rows, start, end } = this.#of;
    if (end - start > this.#counts.length) this.#counts = new Uint32Array(end - start);
    const counts = this.#counts;
    let [length, most, last] = [0, 1, -1];
    for (let at = start; at < end; at++) {
      const row = rows[at]!;
      if (row === last) {
        const count = ++counts[length - 1]!;
        if (count > most) most = count;
        continue;
      }
      rows[start + length] = row;
      counts[length++] = 1;
      last = row;
    }
    this.#rows = length;
    this.#mostCount = most;
  }
}

/** The greatest of numbers between two places; 0 if there are none. */
export function greatest(numbers: Uint32Array, start: number, end: number): number {
  let most = 0;
  for (let at = start; at < end; at++) if (numbers[at]! > most) most = numbers[at]!;
  return most;
}
