import { END, type Cursor } from './cursor.ts';
import type { Numbers, Postings } from '../../index/text/postings.ts';

/** Parameters k1 and b of BM25: saturation of occurrences, and normalisation by length. */
const K1 = 1.2;
const B = 0.75;

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

/** Rows with one word, scored by BM25. */
export class TermCursor implements Cursor {
  row: number;
  readonly bound: number;
  readonly #rows: Uint32Array;
  readonly #counts: Numbers;
  readonly #positions: Numbers | null;
  readonly #lengths: Numbers;
  readonly #factor: number;
  readonly #flat: number;
  readonly #slope: number;
  #at = 0;
  #starts: Uint32Array | undefined;

  /**
   * @param lengths Number of tokens of each row of the fragment.
   * @param lengths How many tokens each row of the fragment has.
   */
  constructor(postings: Postings, lengths: Numbers, { factor, averageLength }: Weight) {
    this.#rows = postings.rows;
    this.#counts = postings.counts;
    this.#positions = postings.positions;
    this.#lengths = lengths;
    this.#factor = factor * (K1 + 1);
    this.#flat = K1 * (1 - B);
    this.#slope = (K1 * B) / averageLength;
    this.row = this.#rows[0] ?? END;
    // A row with the most occurrences in the shortest text bounds the score.
    const best = this.#scoreOf(postings.mostCount, postings.leastLength);
    this.bound = Math.max(0, best * (1 + Number.EPSILON * 8));
  }

  /** Number of rows with the word. */
  get count(): number {
    return this.#rows.length;
  }

  next(): number {
    this.#at++;
    this.row = this.#at < this.#rows.length ? this.#rows[this.#at]! : END;
    return this.row;
  }

  seek(row: number): number {
    if (this.row >= row) return this.row;
    const rows = this.#rows;
    let step = 1;
    let low = this.#at + 1;
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
    this.#at = low;
    this.row = low < rows.length ? rows[low]! : END;
    return this.row;
  }

  score(): number {
    return this.#scoreOf(this.#counts[this.#at]!, this.#lengths[this.row]!);
  }

  demand(): void {
    // With a single word all of its rows are examined.
  }

  /** Positions of the word in the current row. */
  places(): Numbers {
    this.#starts ??= startsOf(this.#counts);
    return this.#positions!.subarray(this.#starts[this.#at], this.#starts[this.#at + 1]);
  }

  #scoreOf(count: number, length: number): number {
    return (this.#factor * count) / (count + this.#flat + this.#slope * length);
  }
}

function startsOf(counts: Numbers): Uint32Array {
  const starts = new Uint32Array(counts.length + 1);
  for (let at = 0; at < counts.length; at++) starts[at + 1] = starts[at]! + counts[at]!;
  return starts;
}
