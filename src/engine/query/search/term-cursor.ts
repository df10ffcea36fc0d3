import { END, type Cursor } from './cursor.ts';
import type { Numbers, Postings } from '../../index/text/postings.ts';

/** How much more a word counts that comes again, and how much less in a long text (BM25's k1 and b). */
const K1 = 1.2;
const B = 0.75;

/** How rare a word is. @param rows How many of the texts have it. */
export function rarityOf(rows: number, texts: number): number {
  return Math.log1p((texts - rows + 0.5) / (rows + 0.5));
}

/** A word as it counts in all texts that are searched. */
interface Weight {
  /** Its rarity, times what its query is boosted by. */
  readonly factor: number;
  /** How many tokens a text has on average. */
  readonly averageLength: number;
}

/** The rows that have one word, scored by BM25. */
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

  /** @param lengths How many tokens each row of the fragment has. */
  constructor(postings: Postings, lengths: Numbers, { factor, averageLength }: Weight) {
    this.#rows = postings.rows;
    this.#counts = postings.counts;
    this.#positions = postings.positions;
    this.#lengths = lengths;
    this.#factor = factor * (K1 + 1);
    this.#flat = K1 * (1 - B);
    this.#slope = (K1 * B) / averageLength;
    this.row = this.#rows[0] ?? END;
    // A row that has it as often as any, in the shortest of the texts.
    const best = this.#scoreOf(postings.mostCount, postings.leastLength);
    this.bound = Math.max(0, best * (1 + Number.EPSILON * 8));
  }

  /** How many rows have it. */
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
    // Where one word is looked for, all rows that have it are looked at.
  }

  /** Where the word stands in the text. */
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
