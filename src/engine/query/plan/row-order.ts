import type { Comparison } from './order-of-values.ts';
import type { WordSource } from './order-words.ts';
import { sortByWords } from '../scan/radix-order.ts';

/** One key that rows are sorted by. */
export interface OrderKey {
  readonly ascending: boolean;
  readonly nullsFirst: boolean;
  /** Whether a row has a value; null when all have one. */
  readonly isValid: ((row: number) => boolean) | null;
  /** The values as words; null where they can only be compared. */
  readonly words: WordSource | null;
  /** Compares two rows by this key, nulls, direction and all. */
  readonly compare: Comparison;
}

/** Work of comparing two rows, and of sorting one by its words. */
const COMPARED_BYTES = 64;
const SORTED_BYTES = 64;

/** Few rows are sorted by comparing them. */
const FEW = 48;

/** The rows of so many in the order of some keys; equals stay in their order. */
export function rowOrder(
  keys: readonly OrderKey[],
  count: number,
  work: (bytes: number) => void = () => undefined,
): Uint32Array {
  const rows = Uint32Array.from({ length: count }, (_, row) => row);
  new RowOrder(keys, count, work).sort(rows, 0, 0);
  return rows;
}

class RowOrder {
  readonly #keys: readonly OrderKey[];
  readonly #count: number;
  readonly #work: (bytes: number) => void;
  /** For each key, since those of an outer key are looked at while an inner one sorts. */
  readonly #words: { high: Uint32Array; low: Uint32Array }[] = [];

  constructor(keys: readonly OrderKey[], count: number, work: (bytes: number) => void) {
    this.#work = work;
    this.#keys = keys;
    this.#count = count;
  }

  /** Sorts rows, which are equal by the keys before and by the parts of this one before. */
  sort(rows: Uint32Array, index: number, part: number): void {
    const key = this.#keys[index];
    if (key === undefined || rows.length < 2) return;
    if (key.words === null || rows.length <= FEW) {
      this.#compare(rows, index);
      return;
    }
    const values = part === 0 ? this.#withoutNulls(rows, index, key) : rows;
    this.#byWords(values, index, part, key, key.words);
  }

  #compare(rows: Uint32Array, index: number): void {
    const keys = this.#keys.slice(index);
    rows.sort((left, right) => {
      this.#work(COMPARED_BYTES);
      for (const { compare } of keys) {
        const difference = compare(left, right);
        if (difference !== 0) return difference;
      }
      return 0;
    });
  }

  /** Moves nulls to their end and sorts them by the next key; answers the others. */
  #withoutNulls(rows: Uint32Array, index: number, { isValid, nullsFirst }: OrderKey): Uint32Array {
    if (isValid === null) return rows;
    const values = rows.filter((row) => isValid(row));
    const nulls = rows.filter((row) => !isValid(row));
    rows.set(nulls, nullsFirst ? 0 : values.length);
    rows.set(values, nullsFirst ? nulls.length : 0);
    const split = nullsFirst ? nulls.length : values.length;
    const [first, second] = [rows.subarray(0, split), rows.subarray(split)];
    this.sort(nullsFirst ? first : second, index + 1, 0);
    return nullsFirst ? second : first;
  }

  #byWords(
    rows: Uint32Array,
    index: number,
    part: number,
    key: OrderKey,
    source: WordSource,
  ): void {
    this.#work(rows.length * SORTED_BYTES);
    const words = this.#wordsOf(index);
    source.fill(rows, words, part);
    if (!key.ascending) invert(rows, words);
    sortByWords(rows, words.high, words.low);
    for (const run of equalRuns(rows, words)) this.#sortEqual(run, index, part, source);
  }

  /** Sorts rows whose words are equal. */
  #sortEqual(rows: Uint32Array, index: number, part: number, source: WordSource): void {
    if (!source.parts) this.sort(rows, index + 1, 0);
    else if (source.goesOn(rows, part)) this.sort(rows, index, part + 1);
    // Values that end with zeros look like those that just end.
    else this.#compare(rows, index);
  }

  #wordsOf(index: number): { high: Uint32Array; low: Uint32Array } {
    this.#words[index] ??= {
      high: new Uint32Array(this.#count),
      low: new Uint32Array(this.#count),
    };
    return this.#words[index];
  }
}

function invert(rows: Uint32Array, { high, low }: { high: Uint32Array; low: Uint32Array }): void {
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at]!;
    high[row] = ~high[row]!;
    low[row] = ~low[row]!;
  }
}

/**
 * The runs of two rows and more with the same words. Each may be sorted, and its
 * words lost, before the next is asked for.
 */
function* equalRuns(
  rows: Uint32Array,
  { high, low }: { high: Uint32Array; low: Uint32Array },
): Generator<Uint32Array> {
  let start = 0;
  for (let at = 1; at <= rows.length; at++) {
    const [row, before] = [rows[at] ?? 0, rows[at - 1]!];
    if (at < rows.length && high[row] === high[before] && low[row] === low[before]) continue;
    const first = start;
    start = at;
    if (at - first > 1) yield rows.subarray(first, at);
  }
}
