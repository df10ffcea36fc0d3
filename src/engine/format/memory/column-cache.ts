import type { Data } from 'apache-arrow';
import { hintCollection, type MemoryBudget } from './memory-budget.ts';

/** One column of one batch of a data file, by a name that stands for it for good. */
export type ColumnKey = string;

interface Entry {
  readonly data: Data;
  readonly bytes: number;
  readonly memory: readonly ArrayBufferLike[];
}

/** Columns that were read only once are not cached. */
const USES_TO_KEEP = 2;
/** In a scan that is repeated, what comes first has been used once more than what is still to come. */
const TURN = 1;
/** Rows are read anywhere, so that some columns are used more often than others by chance. */
const ROWS_ADVANTAGE = 2;
/** A read costs as much as this many bytes more: measured on rows and pages of files that the system has in memory. */
const READ_COST = 2 ** 18;
/** Greatest number of remembered columns. */
const MOST_COLUMNS = 2 ** 16;
/** Hits count no further, so that what is not used any more is soon forgotten. */
const MOST_HITS = 16;
/** Uses are halved when misses have cost this many times as much as to read all remembered columns. */
const TURNS_TO_FORGET = 3;
/** At most this many times the size of the cache counts as remembered, so that one large scan does not delay it. */
const MOST_CACHES = 4;
/** Columns that were used less are forgotten. */
const FEWEST_USES = 1 / 2;

/** A column, and how often it was used lately; a use of some rows is a part of one, by its cost. */
interface Usage {
  uses: number;
  readonly bytes: number;
}

/** Recent uses of columns, cached or not. Only misses age them: while everything is cached, nothing has to leave. */
class RecentUses {
  readonly #columns = new Map<ColumnKey, Usage>();
  readonly #most: number;
  #bytes = 0;
  #missed = 0;

  /** @param cacheBytes Size of the cache. */
  constructor(cacheBytes: number) {
    this.#most = MOST_CACHES * cacheBytes;
  }

  of(key: ColumnKey): number {
    return this.#columns.get(key)?.uses ?? 0;
  }

  /** Counts a use of a cached column. @param share Of its rows. */
  hit(key: ColumnKey, bytes: number, share: number): void {
    const column = this.#column(key, bytes);
    if (column.uses < MOST_HITS) column.uses += partOf(bytes, share);
  }

  /** Counts a use of a column that has to be read. */
  miss(key: ColumnKey, bytes: number, share: number): void {
    const part = partOf(bytes, share);
    this.#column(key, bytes).uses += part;
    this.#missed += bytes * part;
    if (this.#missed > TURNS_TO_FORGET * Math.min(this.#bytes, this.#most)) this.#forget();
    while (this.#columns.size > MOST_COLUMNS) this.#forget();
  }

  #column(key: ColumnKey, bytes: number): Usage {
    const known = this.#columns.get(key);
    if (known !== undefined) return known;
    const column = { uses: 0, bytes };
    this.#columns.set(key, column);
    this.#bytes += bytes;
    return column;
  }

  #forget(): void {
    this.#missed = 0;
    for (const [key, column] of this.#columns) {
      column.uses /= 2;
      if (column.uses >= FEWEST_USES) continue;
      this.#columns.delete(key);
      this.#bytes -= column.bytes;
    }
  }
}

/**
 * Caches columns of tables and pages of indices. One enters only if its uses lately were worth more for each of its bytes
 * than those of the columns that it evicts, so a scan of more than fits changes nothing, and large columns that are not
 * read any more give way to small ones that are. A column of which some rows are read enters once that has cost as much
 * as to read it. Files never change, so nothing is invalidated; an evicted column lives as long as a reader holds it.
 */
export class ColumnCache {
  readonly #budget: MemoryBudget;
  readonly #entries = new Map<ColumnKey, Entry>();
  readonly #uses: RecentUses;
  readonly #memory = new Set<ArrayBufferLike>();

  constructor(budget: MemoryBudget) {
    this.#budget = budget;
    this.#uses = new RecentUses(budget.bytes);
    budget.whenShort(() => this.#giveWay());
  }

  /** A cached column. Each call that finds it counts as a use. @param share Of its rows that are wanted. */
  find(key: ColumnKey, share = 1): Data | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#uses.hit(key, entry.bytes, share);
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.data;
  }

  /**
   * Whether a column that was missing is worth caching. Each call counts as a use.
   * @param bytes Size of the whole column. @param share As for `find`.
   */
  wants(key: ColumnKey, bytes: number, share = 1): boolean {
    if (this.#budget.bytes === 0 || bytes > this.#budget.bytes) return false;
    this.#uses.miss(key, bytes, share);
    const uses = this.#uses.of(key);
    if (uses < USES_TO_KEEP) return false;
    const worth = (uses - TURN) * worthOfUse(bytes);
    let room = this.#budget.left;
    for (const [coldest, entry] of this.#entries) {
      if (room >= bytes) return true;
      if (this.#worth(coldest, entry) * (share < 1 ? ROWS_ADVANTAGE : 1) >= worth) return false;
      room += entry.bytes;
    }
    return room >= bytes;
  }

  #worth(key: ColumnKey, { bytes }: Entry): number {
    return this.#uses.of(key) * worthOfUse(bytes);
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

/** The part of a use that a read of a share of a column's rows is. */
function partOf(bytes: number, share: number): number {
  return Math.min(1, share + READ_COST / bytes);
}

/** What a use of a cached column saves, for each of its bytes. */
function worthOfUse(bytes: number): number {
  return 1 + READ_COST / Math.max(1, bytes);
}
