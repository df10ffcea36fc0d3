import { DataType, type RecordBatch } from 'apache-arrow';
import { extremesOf, hasBounds } from '../../../arrow/extremes.ts';
import { columnData } from '../../../arrow/data.ts';
import { concat, slice, take } from '../../../arrow/select.ts';
import type { RequestBudget } from '../../../protocol/budget.ts';
import { extremesRange } from '../../index/keys/fragment-ranges.ts';
import type { QueryPlan } from '../plan/plan.ts';
import { rowComparison, type OrderKey } from '../plan/row-order.ts';
import type { SortPlan } from '../plan/sort-plan.ts';
import type { WorstRow } from './best-files.ts';
import { ascending, BatchPlaces } from '../scan/gather.ts';
import { rowAt, type Rows } from '../scan/rows.ts';
import type { Place } from '../scan/place.ts';
import { orderKeys, orderOf } from './sort-keys.ts';

/** Greatest end of a window whose rows are kept while others are dropped. */
const MOST_KEPT = 100_000;

/** Whether a sort keeps only the rows up to the end of its window. */
export function keepsBest({ window }: QueryPlan, { keys }: SortPlan): boolean {
  const { offset, limit } = window;
  if (limit === null || offset + limit > MOST_KEPT) return false;
  // Copies of other types share the values of all rows.
  return keys.every(({ path }) => {
    const { type } = path.field;
    return hasBounds(type) && !DataType.isDictionary(type);
  });
}

/** Rows beyond the kept ones that are collected before the worse ones are dropped. */
const MORE_ROWS = 4096;
/** Memory per collected row beside its keys in bytes: position, order and words. */
const ROW_BYTES = 32;
/** Memory per row of a judged batch in bytes: its number, two words, and its place in a list. */
const JUDGED_BYTES = 16;
/** Cost of comparing a row with the worst kept one. */
const COMPARED_BYTES = 8;

/** The worst kept row, with its keys as the only row of a batch. */
interface WorstKeys extends WorstRow {
  readonly keys: RecordBatch;
}

/**
 * The best rows of a scan by keys, and by position where the keys are equal. Batches may come in
 * any order. Memory follows the number of rows that are kept, not of those that are added.
 */
export class BestRows {
  readonly #sort: SortPlan;
  readonly #most: number;
  readonly #budget: RequestBudget;
  #places: Place[] = [];
  #keys: RecordBatch[] = [];
  #positions: Float64Array[] = [];
  #count = 0;
  /** Bytes charged for collected rows. */
  #held = 0;
  #worst: WorstKeys | null = null;
  #scratch = new Scratch(0);

  /** @param most Number of rows to keep. */
  constructor(sort: SortPlan, most: number, budget: RequestBudget) {
    this.#sort = sort;
    this.#most = Math.max(1, most);
    this.#budget = budget;
  }

  /** A row that rows have to be better than; null as long as too few rows were added. */
  get worst(): WorstRow | null {
    return this.#worst;
  }

  /**
   * Adds rows of a batch. The keys are copied.
   * @throws OverBudget.
   */
  add(place: Place, rows: Rows, keys: RecordBatch): void {
    const better = this.#better(place, rows, keys);
    if (better.length === 0) return;
    const row = rowAt(rows);
    const positions = Float64Array.from(better, (at) => place.offset + row(at));
    this.#hold(take(keys, better), positions);
    this.#places.push(place);
    if (this.#count >= 2 * this.#most + MORE_ROWS) this.#drop();
  }

  /** Positions of the best rows in their order, and the places that hold them. */
  sorted(): { readonly places: BatchPlaces; readonly positions: Float64Array } {
    if (this.#count > 0) this.#drop();
    const places = new BatchPlaces();
    for (const place of this.#places) places.add(place);
    return { places, positions: this.#positions[0] ?? new Float64Array() };
  }

  #hold(keys: RecordBatch, positions: Float64Array): void {
    const bytes = keys.data.byteLength + positions.length * ROW_BYTES;
    this.#budget.charge(bytes);
    this.#held += bytes;
    this.#keys.push(keys);
    this.#positions.push(positions);
    this.#count += positions.length;
  }

  /** Rows of a batch that are better than the worst kept row. */
  #better(place: Place, rows: Rows, keys: RecordBatch): Uint32Array {
    const scratch = this.#scratchOf(keys.numRows);
    const worst = this.#worst;
    if (worst === null) return scratch.all.slice(0, keys.numRows);
    const alike = this.#sort.keys.length > 1 || place.offset <= worst.position;
    const first = orderKeys(this.#sort, keys)[0]!;
    const near = scratch.near(first, orderKeys(this.#sort, worst.keys)[0]!, keys.numRows, alike);
    if (near.length === 0) return near;
    this.#budget.work(near.length * COMPARED_BYTES);
    const beside = concat([worst.keys, take(keys, near)]);
    const compare = rowComparison(orderKeys(this.#sort, beside));
    const row = rowAt(rows);
    return near.filter((at, index) => {
      const difference = compare(index + 1, 0);
      return difference < 0 || (difference === 0 && place.offset + row(at) < worst.position);
    });
  }

  #scratchOf(rows: number): Scratch {
    if (this.#scratch.all.length < rows) {
      this.#budget.charge((rows - this.#scratch.all.length) * JUDGED_BYTES);
      this.#scratch = new Scratch(rows);
    }
    return this.#scratch;
  }

  /** Sorts the collected rows and drops all but the best. */
  #drop(): void {
    const before = this.#held;
    // The keys are held a second time while they are sorted.
    this.#budget.charge(before);
    const positions = flat(this.#positions, this.#count);
    const byPosition = ascending(positions);
    const keys = take(concat(this.#keys), byPosition);
    const order = orderOf(this.#sort, keys, (bytes) => this.#budget.work(bytes));
    const best = order.slice(0, this.#most);
    [this.#keys, this.#positions, this.#count, this.#held] = [[], [], 0, 0];
    this.#budget.release(2 * before);
    this.#hold(
      take(keys, best),
      Float64Array.from(best, (at) => positions[byPosition[at]!]!),
    );
    this.#places = usedPlaces(this.#places, this.#positions[0]!);
    if (best.length === this.#most) this.#worst = this.#worstOf();
  }

  #worstOf(): WorstKeys {
    const keys = slice(this.#keys[0]!, this.#most - 1, 1);
    const column = keys.getChildAt(0)!;
    const range = extremesRange(extremesOf(columnData(column)), column.type);
    return { keys, range, position: this.#positions[0]![this.#most - 1]! };
  }
}

/** Arrays for judging the rows of a batch. */
class Scratch {
  /** The numbers of the rows. */
  readonly all: Uint32Array;
  readonly #words: { readonly high: Uint32Array; readonly low: Uint32Array };
  readonly #near: Uint32Array;

  constructor(rows: number) {
    this.all = Uint32Array.from({ length: rows }, (_, row) => row);
    this.#words = { high: new Uint32Array(rows), low: new Uint32Array(rows) };
    this.#near = new Uint32Array(rows);
  }

  /**
   * Rows whose first key is not known to be worse than the worst kept one.
   * @param alike Whether rows with an equal key count.
   */
  near(key: OrderKey, worst: OrderKey, rows: number, alike: boolean): Uint32Array {
    const { words } = key;
    const hasWorst = worst.isValid === null || worst.isValid(0);
    if (words === null || worst.words === null) return this.all.slice(0, rows);
    const passes = hasWorst
      ? this.#byWords(key, worst, rows, alike || words.parts)
      : this.#byNulls(key, alike);
    let count = 0;
    for (let row = 0; row < rows; row++) if (passes(row)) this.#near[count++] = row;
    return this.#near.slice(0, count);
  }

  #byNulls({ isValid, nullsFirst }: OrderKey, alike: boolean): (row: number) => boolean {
    if (!nullsFirst) return (row) => alike || isValid === null || isValid(row);
    return (row) => alike && isValid !== null && !isValid(row);
  }

  #byWords(
    { words, isValid, ascending: up, nullsFirst }: OrderKey,
    worst: OrderKey,
    rows: number,
    alike: boolean,
  ): (row: number) => boolean {
    const last = { high: new Uint32Array(1), low: new Uint32Array(1) };
    worst.words!.fill(Uint32Array.of(0), last, 0);
    const [mostHigh, mostLow] = [last.high[0]!, last.low[0]!];
    const { high, low } = this.#words;
    words!.fill(this.all.subarray(0, rows), this.#words, 0);
    const passes = (row: number): boolean => {
      const [one, other] = [high[row]!, low[row]!];
      if (one !== mostHigh) return up === one < mostHigh;
      if (other === mostLow) return alike;
      return up === other < mostLow;
    };
    if (isValid === null) return passes;
    return (row) => (isValid(row) ? passes(row) : nullsFirst);
  }
}

function flat(parts: readonly Float64Array[], count: number): Float64Array {
  const all = new Float64Array(count);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** The places that hold positions, in the order of the table. */
function usedPlaces(places: readonly Place[], positions: Float64Array): Place[] {
  const inOrder = places.toSorted((one, other) => one.offset - other.offset);
  const all = new BatchPlaces();
  for (const place of inOrder) all.add(place);
  const used = new Set(Array.from(positions, (position) => all.find(position)));
  return inOrder.filter((_, at) => used.has(at));
}
