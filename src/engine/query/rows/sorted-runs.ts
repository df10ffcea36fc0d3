import type { RecordBatch } from 'apache-arrow';
import { concat, take } from '../../../arrow/select.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import type { RequestBudget } from '../../../protocol/budget.ts';
import { Pace } from '../../base/pace.ts';
import { hintCollection } from '../../format/memory/memory-budget.ts';
import { batchBytes } from '../../format/small-batches.ts';
import { SpillFile } from '../../format/spill-file.ts';
import type { TableFolder } from '../../format/snapshot.ts';
import { pick, stretch } from '../scan/rows.ts';
import type { Meters } from '../scan/meters.ts';
import type { SortPlan } from '../plan/sort-plan.ts';
import { keysOf, orderOf } from './sort-keys.ts';

/** Memory per row of a sort beside its columns in bytes: order and two words. */
const ROW_BYTES = 24;
/** Greatest size of a stored batch in bytes and in rows. */
const PIECE_BYTES = 2 ** 20;
const PIECE_ROWS = 2 ** 16;
/** Share of the free memory of the request that the sort takes; filters and reads need the rest. */
export const MEMORY_SHARE = 0.75;
/** Approximate memory of a stored batch that is sorted, in its bytes. */
const PIECE_COST = 4;
/** Size of the portions in which merged rows are copied, in bytes. */
const PORTION_BYTES = 16 * 2 ** 20;
/** Most runs that are merged at once. */
const MAX_MERGED = 64;
/** Share of the free disk that the files of one sort may take. */
const DISK_SHARE = 0.5;

/** Consecutive batches of a file, in order. */
interface Run {
  readonly file: SpillFile;
  readonly first: number;
  readonly end: number;
}

interface SortedRunsOptions {
  readonly sort: SortPlan;
  readonly table: TableFolder;
  readonly budget: RequestBudget;
  readonly meters: Meters;
}

/**
 * Sorts rows that do not fit into memory: sorts as many as fit, writes them to a file as a run, and merges
 * the runs. The sort is stable.
 */
export class SortedRuns {
  readonly #options: SortedRunsOptions;
  /** Memory that the sort may use, in bytes. */
  readonly #memory: number;
  readonly #pace = new Pace();
  readonly #files = new Set<SpillFile>();
  /** File of the runs as they are sorted first. */
  #first: SpillFile | undefined;
  #diskBytes = 0;
  #runs: Run[] = [];
  #held: RecordBatch[] = [];
  #cost = 0;
  #rows = 0;

  constructor(options: SortedRunsOptions) {
    this.#options = options;
    const { limits, held } = options.budget;
    this.#memory = MEMORY_SHARE * (limits.memory - held);
  }

  /** Number of rows that were added. */
  get rows(): number {
    return this.#rows;
  }

  /** Adds rows with all their columns; all batches have one schema. */
  async add(batch: RecordBatch): Promise<void> {
    const cost = costOf(batch);
    if (this.#held.length > 0 && this.#cost + cost > this.#memory) await this.#store();
    this.#options.budget.charge(cost);
    this.#cost += cost;
    this.#rows += batch.numRows;
    this.#held.push(batch);
  }

  /** All rows in order. Call it once, after the last row. */
  async *merged(): AsyncGenerator<RecordBatch> {
    if (this.#held.length > 0) await this.#store();
    for (const file of this.#files) await file.finish();
    for (let most = this.#mergedAtOnce(); this.#runs.length > most; most = this.#mergedAtOnce()) {
      await this.#mergeSome(most);
    }
    yield* this.#merge(this.#runs);
  }

  /** Frees the disk, in any state. */
  async close(): Promise<void> {
    await Promise.all([...this.#files].map((file) => file.close()));
  }

  /** Sorts the rows in memory and writes them as a run. */
  async #store(): Promise<void> {
    const { sort, budget, meters } = this.#options;
    const all = concat(this.#held);
    this.#held = [];
    const order = meters.timed('sort', () =>
      budget.run(() => orderOf(sort, keysOf(sort, all), (bytes) => budget.work(bytes))),
    );
    this.#first ??= await this.#newFile(all);
    const file = this.#first;
    const first = file.count;
    for (const part of portions(all, order, this.#pieceRows(all))) await this.#write(file, part);
    this.#runs.push({ file, first, end: file.count });
    budget.release(this.#cost);
    this.#cost = 0;
    hintCollection(batchBytes(all));
  }

  async #newFile({ schema }: RecordBatch): Promise<SpillFile> {
    const { table } = this.#options;
    this.#diskBytes ||= DISK_SHARE * (await table.storage.freeBytes(table.folder));
    const file = SpillFile.create(table, schema);
    this.#files.add(file);
    return file;
  }

  async #write(file: SpillFile, batch: RecordBatch): Promise<void> {
    this.#options.budget.work(batchBytes(batch));
    await file.add(batch);
    const bytes = [...this.#files].reduce((sum, each) => sum + each.bytes, 0);
    if (bytes > this.#diskBytes) throw overDisk();
    await this.#pace.turn();
  }

  /** Size of a stored batch in bytes. */
  get #pieceBytes(): number {
    return Math.min(PIECE_BYTES, this.#memory / 256);
  }

  #pieceRows(batch: RecordBatch): number {
    return Math.min(PIECE_ROWS, rowsWithin(this.#pieceBytes, batch));
  }

  /** How many runs fit into a quarter of the memory with a batch of each. */
  #mergedAtOnce(): number {
    const pieces = this.#memory / 4 / (PIECE_COST * this.#pieceBytes);
    return Math.max(2, Math.min(MAX_MERGED, Math.floor(pieces)));
  }

  /** Replaces groups of neighbouring runs by longer ones in a new file. */
  async #mergeSome(most: number): Promise<void> {
    const old = [...this.#files];
    const longer: Run[] = [];
    let file: SpillFile | undefined;
    for (let start = 0; start < this.#runs.length; start += most) {
      let first: number | undefined;
      for await (const batch of this.#merge(this.#runs.slice(start, start + most))) {
        file ??= await this.#newFile(batch);
        first ??= file.count;
        for (const part of portions(batch, null, this.#pieceRows(batch))) {
          await this.#write(file, part);
        }
      }
      if (file !== undefined) longer.push({ file, first: first ?? 0, end: file.count });
    }
    await file?.finish();
    for (const each of old) {
      this.#files.delete(each);
      await each.close();
    }
    this.#runs = longer;
  }

  async *#merge(runs: readonly Run[]): AsyncGenerator<RecordBatch> {
    const quota = this.#memory / 4 / runs.length;
    const cursors = runs.map((run) => new RunCursor(run));
    for (;;) {
      for (const cursor of cursors) await cursor.fill(quota);
      const live = cursors.filter(({ rows }) => rows > 0);
      if (live.length === 0) return;
      const cost = live.reduce((sum, cursor) => sum + cursor.cost, 0);
      this.#options.budget.charge(cost);
      try {
        yield* this.#mergeHeads(live);
      } finally {
        this.#options.budget.release(cost);
      }
      hintCollection(cost);
      await this.#pace.turn();
    }
  }

  /** Yields the rows of some heads that come before all rows that are not in memory yet. */
  *#mergeHeads(live: readonly RunCursor[]): Generator<RecordBatch> {
    const { sort, budget, meters } = this.#options;
    const heads = concat(live.flatMap((cursor) => cursor.batches()));
    const order = meters.timed('sort', () =>
      budget.run(() => orderOf(sort, keysOf(sort, heads), (bytes) => budget.work(bytes))),
    );
    const sorted = order.subarray(0, certainRows(live, order));
    for (const [at, count] of countsOf(live, sorted).entries()) live[at]!.drop(count);
    yield* portions(heads, sorted, rowsWithin(PORTION_BYTES, heads));
  }
}

/** The position in a file of sorted rows, and the rows from there on that are in memory. */
class RunCursor {
  readonly #run: Run;
  #next: number;
  #batches: RecordBatch[] = [];
  /** Memory of the rows in bytes, with their copies and words. */
  cost = 0;
  rows = 0;

  constructor(run: Run) {
    this.#run = run;
    this.#next = run.first;
  }

  /** Whether the file has more rows. */
  get hasMore(): boolean {
    return this.#next < this.#run.end;
  }

  batches(): readonly RecordBatch[] {
    return this.#batches;
  }

  /** Reads batches up to a cost; one at least if no row is in memory. */
  async fill(quota: number): Promise<void> {
    while (this.hasMore && (this.rows === 0 || this.cost < quota)) {
      const batch = await this.#run.file.batch(this.#next++);
      this.#batches.push(batch);
      this.#count();
    }
  }

  /** Drops the first rows. */
  drop(count: number): void {
    let rest = count;
    while (rest > 0) {
      const first = this.#batches[0]!;
      if (first.numRows > rest) {
        this.#batches[0] = pick(first, stretch(rest, first.numRows - rest));
        break;
      }
      rest -= first.numRows;
      this.#batches.shift();
    }
    this.#count();
  }

  #count(): void {
    this.rows = this.#batches.reduce((sum, { numRows }) => sum + numRows, 0);
    this.cost = this.#batches.reduce((sum, batch) => sum + costOf(batch), 0);
  }
}

/** Memory that rows take while they are sorted: as read, joined, and in words. */
function costOf(batch: RecordBatch): number {
  return 2 * batchBytes(batch) + ROW_BYTES * batch.numRows;
}

/** How many of the first rows surely come before all that the runs have not read. */
function certainRows(live: readonly RunCursor[], order: Uint32Array): number {
  const last = new Set<number>();
  let end = 0;
  for (const { rows, hasMore } of live) {
    end += rows;
    if (hasMore) last.add(end - 1);
  }
  const at = last.size === 0 ? -1 : order.findIndex((row) => last.has(row));
  return at < 0 ? order.length : at + 1;
}

/** How many of the rows belong to each run. */
function countsOf(live: readonly RunCursor[], rows: Uint32Array): Uint32Array {
  const total = live.reduce((sum, cursor) => sum + cursor.rows, 0);
  const owners = new Uint8Array(total);
  let end = 0;
  for (const [at, cursor] of live.entries()) {
    owners.fill(at, end, end + cursor.rows);
    end += cursor.rows;
  }
  const counts = new Uint32Array(live.length);
  for (const row of rows) counts[owners[row]!]! += 1;
  return counts;
}

/** Number of a batch's rows, one at least, that take some bytes. */
function rowsWithin(bytes: number, batch: RecordBatch): number {
  const width = batchBytes(batch) / Math.max(1, batch.numRows);
  return Math.max(1, Math.floor(bytes / Math.max(1, width)));
}

/** Copies of rows in an order, some at a time; of all rows as they are without one. */
function* portions(
  batch: RecordBatch,
  order: Uint32Array | null,
  step: number,
): Generator<RecordBatch> {
  const rows = order?.length ?? batch.numRows;
  for (let start = 0; start < rows; start += step) {
    const count = Math.min(step, rows - start);
    yield order === null
      ? pick(batch, stretch(start, count))
      : take(batch, order.subarray(start, start + count));
  }
}

function overDisk(): CatalogError {
  return new CatalogError(
    'InvalidInput',
    'The sort needs more than half of the free disk for temporary files: ask for fewer rows with a filter, or for the first ones with k',
  );
}
