import type { Comparison } from './order-of-values.ts';
import type { WordSource } from './order-words.ts';
import { sortByWords } from '../scan/radix-order.ts';

/** One key that rows are sorted by. */
export interface OrderKey {
  readonly ascending: boolean;
  readonly nullsFirst: boolean;
  /** Whether a row has a value; null when all have one. */
  readonly isValid: ((row: number) => boolean) | null;
  /** The values as words; null for types that need comparisons. */
  readonly words: WordSource | null;
  /** Compares two rows by this key, including nulls and direction. */
  readonly compare: Comparison;
}

/** Cost of comparing two rows, and of sorting one by its words. */
const COMPARED_BYTES = 64;
const SORTED_BYTES = 64;

/** Up to this number, rows are sorted by comparisons. */
const FEW = 48;

/** Sorts rows by some keys; the sort is stable. */
export function sortedRows(
  keys: readonly OrderKey[],
  count: number,
  work: (bytes: number) => void = () => undefined,
): Uint32Array {
  const rows = Uint32Array.from({ length: count }, (_, row) => row);
  new RowOrder(keys, count, work).sort(rows, 0, 0);
  return rows;
}

/** Compares two rows by some keys. */
export function rowComparison(keys: readonly OrderKey[]): Comparison {
  return (left, right) => {
    for (const { compare } of keys) {
      const difference = compare(left, right);
      if (difference !== 0) return difference;
    }
    return 0;
  };
}

class RowOrder {
  readonly #keys: readonly OrderKey[];
  readonly #count: number;
  readonly #work: (bytes: number) => void;
  /** One pair per key: outer keys are in use while inner ones sort. */
  readonly #words: { high: Uint32Array; low: Uint32Array }[] = [];

  constructor(keys: readonly OrderKey[], count: number, work: (bytes: number) => void) {
    this.#work = work;
    this.#keys = keys;
    this.#count = count;
  }

  /** Sorts rows that are equal by earlier keys and earlier parts of this key. */
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
    const compare = rowComparison(this.#keys.slice(index));
    rows.sort((left, right) => {
      this.#work(COMPARED_BYTES);
      return compare(left, right);
    });
  }

  /** Moves nulls to their end and sorts them by the next key. Returns the other rows. */
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
    // Values with trailing zeros and shorter values have the same words.
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
 * Runs of at least two rows with the same words. Each may be sorted, which overwrites its words,
 * before the next is requested.
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
