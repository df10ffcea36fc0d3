import { END, type BoundedCursor } from './cursor.ts';
import { POSTINGS_OF_BLOCK, type Numbers, type Postings } from '../../index/text/postings.ts';

/** Parameters k1 and b of BM25: saturation of occurrences, and normalisation by length. */
const K1 = 1.2;
const B = 0.75;

/** Shortest gap between two rows that is a range of its own without a score. */
const GAP = 256;

/** Inverse document frequency of a word. @param rows Number of texts with the word. */
export function rarityOf(rows: number, texts: number): number {
  return Math.log1p((texts - rows + 0.5) / (rows + 0.5));
}

/** Weight of a word over all searched texts. */
interface Weight {
  /** Its inverse document frequency times the boost of its query. */
  readonly factor: number;
  /** Average number of tokens of a text. */
  readonly averageLength: number;
}

const NONE: Postings = {
  rows: new Uint32Array(),
  counts: new Uint8Array(),
  positions: null,
  mostCount: 0,
  leastLength: 0,
  blocks: null,
};

/** Rows with one word, scored by BM25. */
export class TermCursor implements BoundedCursor {
  row = END;
  reach = 0;
  readonly bound: number;
  /** Number of rows with the word. */
  readonly count: number;
  readonly #parts: readonly Postings[];
  readonly #lengths: Numbers;
  readonly #factor: number;
  readonly #flat: number;
  readonly #slope: number;
  #demanded = -Infinity;
  /** The next part. */
  #next = 0;
  #postings = NONE;
  #rows = NONE.rows;
  #counts = NONE.counts;
  #at = 0;
  /** The end of the current block. */
  #end = 0;
  /** The block whose bound is known; -1 for none. */
  #block = -1;
  #blockBound = 0;
  #starts: Uint32Array | undefined;

  /**
   * @param parts Postings of consecutive rows in the order of their rows, none of them empty.
   * @param lengths Number of tokens of each row of the fragment.
   */
  constructor(parts: readonly Postings[], lengths: Numbers, { factor, averageLength }: Weight) {
    this.#parts = parts;
    this.#lengths = lengths;
    this.#factor = factor * (K1 + 1);
    this.#flat = K1 * (1 - B);
    this.#slope = (K1 * B) / averageLength;
    this.count = parts.reduce((count, { rows }) => count + rows.length, 0);
    // A row with the most occurrences in the shortest text bounds the score.
    const bounds = parts.map((part) => this.#boundOf(part.mostCount, part.leastLength));
    this.bound = Math.max(0, ...bounds);
    this.#enterPart();
  }

  next(): number {
    if (++this.#at >= this.#end) return this.#pass();
    return (this.row = this.#rows[this.#at]!);
  }

  seek(row: number): number {
    if (this.row >= row) return this.row;
    while (this.#rows[this.#rows.length - 1]! < row) if (!this.#enterPart()) return END;
    if (this.row < row) {
      this.#at = firstFrom(this.#rows, this.#at + 1, row);
      this.row = this.#rows[this.#at]!;
    }
    if (this.#at >= this.#end) this.#end = this.#endOfBlock();
    return this.row;
  }

  score(): number {
    return this.#scoreOf(this.#counts[this.#at]!, this.#lengths[this.row]!);
  }

  demand(score: number): void {
    this.#demanded = score;
  }

  boundFrom(row: number): number {
    const next = this.seek(row);
    if (next === END || next - row >= GAP) {
      this.reach = next;
      return 0;
    }
    this.reach = this.#rows[this.#end - 1]! + 1;
    return this.#boundHere();
  }

  /** Positions of the word in the current row. */
  places(): Numbers {
    this.#starts ??= startsOf(this.#counts);
    return this.#postings.positions!.subarray(this.#starts[this.#at], this.#starts[this.#at + 1]);
  }

  /** Advances from the end of a block or part to the first row of a block that may be needed. */
  #pass(): number {
    for (;;) {
      if (this.#at >= this.#rows.length) {
        if (!this.#enterPart()) return END;
      } else {
        this.#end = this.#endOfBlock();
      }
      if (this.#demanded === -Infinity || this.#boundHere() > this.#demanded) break;
      this.#at = this.#end;
    }
    return (this.row = this.#rows[this.#at]!);
  }

  /** Moves to the first row of the next part. Returns whether there is one. */
  #enterPart(): boolean {
    const postings = this.#parts[this.#next++];
    this.#postings = postings ?? NONE;
    ({ rows: this.#rows, counts: this.#counts } = this.#postings);
    this.#at = 0;
    this.#block = -1;
    this.#starts = undefined;
    this.#end = this.#endOfBlock();
    this.row = postings === undefined ? END : this.#rows[0]!;
    return postings !== undefined;
  }

  /** The end of the current block; of the part if it has no blocks. */
  #endOfBlock(): number {
    const { length } = this.#rows;
    if (this.#postings.blocks === null) return length;
    return Math.min(length, (Math.floor(this.#at / POSTINGS_OF_BLOCK) + 1) * POSTINGS_OF_BLOCK);
  }

  /** Upper bound of the scores of the current block. */
  #boundHere(): number {
    const { blocks } = this.#postings;
    if (blocks === null) return this.bound;
    const block = Math.floor(this.#at / POSTINGS_OF_BLOCK);
    if (block === this.#block) return this.#blockBound;
    const most = blocks.mostCounts[block]!;
    this.#block = block;
    this.#blockBound = Math.max(
      this.#boundOf(most, blocks.mostLengths[block]!),
      this.#boundOf(most - 1, blocks.otherLengths[block]!),
    );
    return this.#blockBound;
  }

  /** Upper bound of the scores of rows with at most this number of occurrences and at least this number of tokens. */
  #boundOf(count: number, length: number): number {
    return Math.max(0, this.#scoreOf(count, length) * (1 + Number.EPSILON * 8));
  }

  #scoreOf(count: number, length: number): number {
    return (this.#factor * count) / (count + this.#flat + this.#slope * length);
  }
}

/** Index of the first of some rows, from a given one on, that is not before a row. There is one. */
function firstFrom(rows: Uint32Array, from: number, row: number): number {
  let step = 1;
  let low = from;
  let high = low;
  while (high < rows.length && rows[high]! < row) {
    low = high + 1;
    step *= 2;
    high += step;
  }
  high = Math.min(high, rows.length);
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle]! < row) low = middle + 1;
    else high = middle;
  }
  return low;
}

function startsOf(counts: Numbers): Uint32Array {
  const starts = new Uint32Array(counts.length + 1);
  for (let at = 0; at < counts.length; at++) starts[at + 1] = starts[at]! + counts[at]!;
  return starts;
}
