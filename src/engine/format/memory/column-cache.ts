import type { Data } from 'apache-arrow';
import { hintCollection, type MemoryBudget } from './memory-budget.ts';

/** Greatest number of remembered keys. */
const MOST_KEYS = 2 ** 16;
/** How long touches of columns count, and touches of rows, of which a column needs more. */
const TOUCHES_PER_KEY = 8;
const ROW_TOUCHES_PER_KEY = 256;
/** A handful of keys must not be forgotten within moments. */
const FEWEST_KEYS = 2 ** 10;

/** How often things were touched lately. What is not touched any more is forgotten by and by. */
class TouchCounts {
  readonly #counts = new Map<string, number>();
  readonly #touchesPerKey: number;
  #touches = 0;

  /** @param touchesPerKey Counts are halved after this many touches per remembered key. */
  constructor(touchesPerKey: number) {
    this.#touchesPerKey = touchesPerKey;
  }

  /** Counts one touch more and answers how many there were. */
  add(key: string): number {
    const count = this.of(key) + 1;
    this.#counts.set(key, count);
    this.#touches++;
    const keys = Math.max(FEWEST_KEYS, this.#counts.size);
    if (this.#touches >= keys * this.#touchesPerKey || this.#counts.size > MOST_KEYS) this.#age();
    return count;
  }

  of(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  #age(): void {
    this.#touches = 0;
    for (const [key, count] of this.#counts) {
      if (count > 1) this.#counts.set(key, count >> 1);
      else this.#counts.delete(key);
    }
  }
}

/** One column of one batch of a data file, by a name that stands for it for good. */
export type ColumnKey = string;

interface Entry {
  readonly data: Data;
  readonly bytes: number;
  readonly memory: readonly ArrayBufferLike[];
}

/** Columns that were read only once are not cached. */
const TOUCHES_TO_KEEP = 2;
/** In a scan that is repeated, what comes first has been touched once more than what is still to come. */
const TURN = 1;
/** Bytes of a column that cost as much to read as some of its rows alone. */
const ROWS_COST = 2 ** 16;
/** Rows are read anywhere, so that some columns are touched more often than others by chance. */
const ROWS_ADVANTAGE = 2;

/**
 * Caches columns that are read often. A column enters only if it was requested more often lately than
 * those it evicts, so a scan of more than fits changes nothing. Reads of some rows count by their cost: a column
 * enters once they have cost as much as to read it. Data files never change, so nothing is
 * invalidated; an evicted column lives as long as a reader holds it.
 */
export class ColumnCache {
  readonly #budget: MemoryBudget;
  readonly #entries = new Map<ColumnKey, Entry>();
  readonly #touches = new TouchCounts(TOUCHES_PER_KEY);
  /** Reads of some rows of a column. */
  readonly #rowTouches = new TouchCounts(ROW_TOUCHES_PER_KEY);
  readonly #memory = new Set<ArrayBufferLike>();

  constructor(budget: MemoryBudget) {
    this.#budget = budget;
    budget.whenShort(() => this.#giveWay());
  }

  /** A cached column. Each call counts as a use. @param rows Whether only some of its rows are wanted. */
  find(key: ColumnKey, rows = false): Data | undefined {
    if (this.#budget.bytes === 0) return undefined;
    (rows ? this.#rowTouches : this.#touches).add(key);
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.data;
  }

  /** Whether a column that was missing is worth caching, by its size in bytes. @param rows As for `find`. */
  wants(key: ColumnKey, bytes: number, rows = false): boolean {
    const touches = this.#touchesOf(key, bytes);
    if (touches < TOUCHES_TO_KEEP || bytes > this.#budget.bytes) return false;
    const advantage = rows ? ROWS_ADVANTAGE : 1;
    let room = this.#budget.left;
    for (const [coldest, entry] of this.#entries) {
      if (room >= bytes) return true;
      if (advantage * this.#touchesOf(coldest, entry.bytes) + TURN >= touches) return false;
      room += entry.bytes;
    }
    return room >= bytes;
  }

  /** Touches of a column, and those of its rows by their share of its cost. */
  #touchesOf(key: ColumnKey, bytes: number): number {
    return this.#touches.of(key) + this.#rowTouches.of(key) * Math.min(1, ROWS_COST / bytes);
  }

  /**
   * Keeps a column, which lies in memory of its own, for others to find.
   * @param memory Memory of the column that `holds` knows.
   */
  keep(key: ColumnKey, data: Data, bytes: number, memory: readonly ArrayBufferLike[] = []): void {
    this.#remove(key);
    this.#makeRoom(bytes);
    if (this.#budget.left < bytes) return;
    this.#entries.set(key, { data, bytes, memory });
    for (const each of memory) this.#memory.add(each);
    this.#budget.spend(bytes);
  }

  /** Whether memory belongs to a column that is kept. */
  holds(memory: ArrayBufferLike): boolean {
    return this.#memory.has(memory);
  }

  /** Others need memory now, and nothing that is kept from now on would have what left collected. */
  #giveWay(): void {
    const left = this.#budget.left;
    this.#makeRoom(0);
    hintCollection(this.#budget.left - left);
  }

  #makeRoom(bytes: number): void {
    for (const coldest of this.#entries.keys()) {
      if (this.#budget.left >= bytes) return;
      this.#remove(coldest);
    }
  }

  #remove(key: ColumnKey): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    for (const memory of entry.memory) this.#memory.delete(memory);
    this.#budget.refund(entry.bytes);
  }
}
