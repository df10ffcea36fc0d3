import { countOf, rowAt, type Rows } from './rows.ts';

/** Rows of a batch, and the number of rows kept before them. */
interface Stretch {
  readonly start: number;
  /** Position in the table of the batch's first row. */
  readonly offset: number;
  readonly rows: Rows;
}

/** Positions of kept rows by their number. Consecutive rows take no memory. */
export class KeptPositions {
  readonly #stretches: Stretch[] = [];
  #count = 0;
  #isAll = true;

  /** Adds the next rows of the scan. @param offset Position in the table of the batch's first row. */
  add(offset: number, rows: Rows): void {
    const isNext = rows.kind === 'stretch' && offset + rows.start === this.#count;
    this.#isAll &&= isNext;
    this.#stretches.push({ start: this.#count, offset, rows });
    this.#count += countOf(rows);
  }

  /** Positions of rows by their numbers among the kept ones. */
  of(retained: Uint32Array): Float64Array {
    if (this.#isAll) return Float64Array.from(retained);
    const positions = new Float64Array(retained.length);
    for (let at = 0; at < retained.length; at++) positions[at] = this.#position(retained[at]!);
    return positions;
  }

  #position(retained: number): number {
    const { start, offset, rows } = this.#stretches[this.#find(retained)]!;
    return offset + rowAt(rows)(retained - start);
  }

  #find(retained: number): number {
    let low = 0;
    let high = this.#stretches.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#stretches[middle]!.start <= retained) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/** Digits of this width are used from this number of rows on; fewer rows have smaller digits. */
const WIDE = { rows: 2 ** 14, bits: 16 };
const NARROW_BITS = 8;
/** Up to this number of rows, comparing them costs less than counting digits. */
const FEW_ROWS = 64;

/**
 * Stable sort by two words, the high one first. A radix sort of many rows takes a few passes whatever the
 * words are.
 * @param high Words by row; null if all are the same; `low` likewise.
 */
export function sortByWords(rows: Uint32Array, high: Uint32Array | null, low: Uint32Array): void {
  if (rows.length <= FEW_ROWS) {
    rows.sort((one, other) => {
      const difference = high === null ? 0 : high[one]! - high[other]!;
      return difference === 0 ? low[one]! - low[other]! : difference;
    });
    return;
  }
  const bits = rows.length < WIDE.rows ? NARROW_BITS : WIDE.bits;
  const starts = new Uint32Array(2 ** bits);
  let from = rows;
  let to: Uint32Array = new Uint32Array(rows.length);
  for (const words of high === null ? [low] : [low, high]) {
    for (let shift = 0; shift < 32; shift += bits) {
      if (pass(from, to, words, shift, starts)) [from, to] = [to, from];
    }
  }
  if (from !== rows) rows.set(from);
}

/** Sorts by one digit. Returns false and does nothing if all rows have the same digit. */
function pass(
  from: Uint32Array,
  to: Uint32Array,
  words: Uint32Array,
  shift: number,
  starts: Uint32Array,
): boolean {
  const mask = starts.length - 1;
  starts.fill(0);
  for (let at = 0; at < from.length; at++) starts[(words[from[at]!]! >>> shift) & mask]!++;
  if (from.length === 0 || starts[(words[from[0]!]! >>> shift) & mask] === from.length) {
    return false;
  }
  let start = 0;
  for (let digit = 0; digit <= mask; digit++) {
    const count = starts[digit]!;
    starts[digit] = start;
    start += count;
  }
  for (let at = 0; at < from.length; at++) {
    const row = from[at]!;
    to[starts[(words[row]! >>> shift) & mask]!++] = row;
  }
  return true;
}
