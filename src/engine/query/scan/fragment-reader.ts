import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import type { RecordBatch } from 'apache-arrow';
import type { RowRange } from '../../../arrow/ipc/row-range.ts';
import { concat, take } from '../../../arrow/select.ts';
import { candidatesOf, type CandidateBatch, type Candidates } from '../../index/keys/candidates.ts';
import { IndexReader } from '../../index/keys/index-reader.ts';
import { findRows, type FragmentLookup } from '../../index/keys/lookup.ts';
import { placeIn, stretchesOf } from '../../index/keys/row-set.ts';
import { holdsCodes } from '../../index/vectors/code-file.ts';
import { CodeStore, vectorSource, type VectorSource } from '../../index/vectors/code-store.ts';
import { cachedColumns, type ColumnsFound } from '../../format/cached-columns.ts';
import { ColumnCache } from '../../format/memory/column-cache.ts';
import { planColumns, plannedBatch, type ColumnPlan } from '../../format/column-plan.ts';
import { readDeletions } from '../../format/deletion-file.ts';
import { MemoryBudget } from '../../format/memory/memory-budget.ts';
import { OpenFiles, type OpenDataFile } from '../../format/memory/open-files.ts';
import { idsOfBatch, liveRows, physicalRange, rowsWithin, type RowIds } from './live-rows.ts';
import { TextReader } from '../../index/text/text-reader.ts';
import { textSource, type TextSource } from '../../index/text/text-source.ts';
import { Lease, ReadMemory, workAhead } from '../../format/memory/read-memory.ts';
import { fragmentKey, type Fragment, type Snapshot } from '../../format/snapshot.ts';
import { storedSizes, type BatchSize } from '../../format/stored-sizes.ts';
import { batchBytes } from '../../format/small-batches.ts';

/** Rows side by side whose buffers are so small together are not copied: their memory holds little else. */
const FEW_BYTES = 2 ** 14;

/** Some rows that were read, and what gives their memory back. */
interface ReadRows {
  readonly batch: RecordBatch;
  readonly release: () => void;
}

/**
 * Rows of a stretch that was read from its first row to its last.
 * @param stretch As they stand in their batch, ascending.
 */
function pickedPart({ batch, release }: ReadRows, stretch: Uint32Array): RecordBatch {
  if (batch.numRows === stretch.length && batchBytes(batch) <= FEW_BYTES) return batch;
  const first = stretch[0]!;
  const part = take(
    batch,
    stretch.map((row) => row - first),
  );
  release();
  return part;
}

/** The name of the column that holds row ids in a file that stores them. */
export const STORED_ROW_ID = '_rowid';

/** Some batches of a fragment that follow each other. */
export interface BatchRange {
  readonly first: number;
  readonly count: number;
}

/** A batch of a fragment: its rows that are not deleted. */
export interface FragmentBatch {
  readonly batch: RecordBatch;
  /** Position of the batch in its file. */
  readonly index: number;
  readonly rowIds: RowIds;
  /** Position in the file of the batch's first physical row. */
  readonly start: number;
  /** The physical rows of the batch that are there, ascending; null for all. */
  readonly live: Uint32Array | null;
  /** How many rows of the fragment, deleted ones left out, lie before the batch. */
  readonly before: number;
  /** How many rows of the batch come before the first one here. */
  readonly skipped: number;
  /**
   * Gives the memory of the rows back, for the next reads. To be called once, by
   * who knows that nothing looks at them any more; it need not be called at all.
   */
  readonly release?: () => void;
}

/** Where scans get their rows from. */
export interface BatchSource {
  /**
   * The rows of one fragment, batch by batch, with exactly these columns in
   * this order. So many batches are read ahead of the one that is asked for.
   * Given a range, only its batches are read.
   */
  batches(
    snapshot: Snapshot,
    fragment: Fragment,
    columns: readonly string[],
    ahead?: number,
    range?: BatchRange,
  ): AsyncGenerator<FragmentBatch>;
  /** One batch of a fragment, by its position; some of its rows are enough. */
  batch(
    snapshot: Snapshot,
    fragment: Fragment,
    index: number,
    columns: readonly string[],
    rows?: RowRange,
  ): Promise<FragmentBatch>;
  /** The sizes of a fragment's batches with some columns, deleted rows included; null where files do not tell. */
  sizes?(
    snapshot: Snapshot,
    fragment: Fragment,
    columns: readonly string[],
  ): Promise<readonly BatchSize[] | null>;
  /** What finds rows by indices; without it all rows are read. */
  readonly indices?: IndexSource | undefined;
  /** What reads the codes of vector indices; without it every vector is compared. */
  readonly vectors?: VectorSource | undefined;
  /** What text indices know; without it there are no full-text searches. */
  readonly texts?: TextSource | undefined;
  /** The same as the batch's `release`, for who sees the memory alone. Other memory is left alone. */
  giveBack?(memory: ArrayBufferLike): void;
}

/** Finds rows of fragments by indices, and reads them. */
export interface IndexSource {
  /** The rows that a lookup finds; null when reading all rows is better. */
  candidates(
    snapshot: Snapshot,
    fragment: Fragment,
    lookup: FragmentLookup,
  ): Promise<Candidates | null>;
  /** Some rows of a batch, which are not deleted: as they stand in it, ascending. */
  rows(
    snapshot: Snapshot,
    fragment: Fragment,
    batch: Pick<CandidateBatch, 'index' | 'start'>,
    columns: readonly string[],
    rows: Uint32Array,
  ): Promise<PickedRows>;
}

/** Some rows of a batch. */
export interface PickedRows {
  readonly batch: RecordBatch;
  readonly rowIds: RowIds;
}

/** What is read of a batch: its rows, or a range of them. */
interface Reading {
  readonly index: number;
  readonly rows: number;
  readonly range: RowRange | undefined;
}

/** No deleted rows. */
const NONE = new Uint32Array(0);

/** Memory for lists of deleted rows, in bytes. */
const DELETIONS_BYTES = 16 * 2 ** 20;

/** Reads fragments: their data files, and which of the rows are deleted. */
export class FragmentReader implements BatchSource {
  readonly #files = new OpenFiles();
  readonly #memory = new ReadMemory();
  readonly #deletions = new LRUCache<string, Uint32Array>({
    maxSize: DELETIONS_BYTES,
    sizeCalculation: (rows) => Math.max(1, rows.byteLength),
  });
  readonly #columnCache: ColumnCache;
  readonly #indexReader: IndexReader;
  readonly #codes: CodeStore;
  readonly indices: IndexSource;
  readonly vectors: VectorSource;
  readonly texts: TextSource;
  /** Is told of files of indices that cannot be used. */
  onDamage: (error: Error) => void = () => undefined;

  /** @param budget Memory for columns that are read often; none unless given. */
  constructor(budget = new MemoryBudget(0)) {
    this.#columnCache = new ColumnCache(budget);
    this.#indexReader = new IndexReader(this.#files, this.#columnCache);
    this.indices = {
      candidates: (...asked) => this.#candidates(...asked),
      rows: (...asked) => this.#rows(...asked),
    };
    this.#codes = new CodeStore(this.#files, budget, (error) => this.onDamage(error));
    const rows = {
      deletions: (...asked: [Snapshot, Fragment]) => this.deletions(...asked),
      starts: (...asked: [Snapshot, Fragment]) =>
        this.#first(...asked, async (file) => file.starts),
    };
    this.vectors = vectorSource(this.#codes, rows);
    this.texts = textSource(new TextReader(this.#files, this.#columnCache), rows);
  }

  /** How often an index found the rows of a fragment. */
  get lookups(): number {
    return this.#indexReader.lookups;
  }

  async *batches(
    snapshot: Snapshot,
    fragment: Fragment,
    columns: readonly string[],
    ahead = 0,
    range?: BatchRange,
  ): AsyncGenerator<FragmentBatch> {
    const count = await this.#first(snapshot, fragment, async ({ starts }) => starts.length);
    const plan = planColumns(snapshot, fragment, columns);
    const read = (index: number) => this.#batch(snapshot, fragment, index, plan, undefined);
    const all = Array.from({ length: count }, (_, index) => index);
    const asked = range === undefined ? all : all.slice(range.first, range.first + range.count);
    yield* workAhead(asked, ahead, read);
  }

  async batch(
    snapshot: Snapshot,
    fragment: Fragment,
    index: number,
    columns: readonly string[],
    asked?: RowRange,
  ): Promise<FragmentBatch> {
    const plan = planColumns(snapshot, fragment, columns);
    return this.#batch(snapshot, fragment, index, plan, asked);
  }

  async #batch(
    snapshot: Snapshot,
    fragment: Fragment,
    index: number,
    plan: ColumnPlan,
    asked: RowRange | undefined,
  ): Promise<FragmentBatch> {
    const { start, rows } = await this.#frame(snapshot, fragment, index);
    const deleted = await this.deletions(snapshot, fragment);
    const live = liveRows(deleted, start, rows);
    const before = start - placeIn(deleted, start);
    const range = asked && physicalRange(asked, live);
    const [ids, { batch, release }] = await Promise.all([
      this.#storedIds(snapshot, fragment, index),
      this.#columns(plan, { index, rows, range }),
    ]);
    const rowIds = idsOfBatch(fragment.firstRowId + BigInt(start), ids, live);
    const found = { index, rowIds, start, live, before, skipped: asked?.start ?? 0 };
    if (live === null) return { ...found, batch, release };
    const left = take(batch, range === undefined ? live : rowsWithin(live, asked!, range.start));
    release();
    return { ...found, batch: left };
  }

  sizes(...asked: [Snapshot, Fragment, readonly string[]]): Promise<readonly BatchSize[] | null> {
    return storedSizes(this.#files, planColumns(...asked));
  }

  giveBack(memory: ArrayBufferLike): void {
    this.#memory.giveBack(memory);
  }

  /** The deleted rows of a fragment, ascending. */
  async deletions({ folder }: Snapshot, { deletions }: Fragment): Promise<Uint32Array> {
    if (deletions === null) return NONE;
    const path = join(folder, deletions);
    const known = this.#deletions.get(path);
    if (known !== undefined) return known;
    const rows = await readDeletions(folder, deletions);
    this.#deletions.set(path, rows);
    return rows;
  }

  /** Remembers deleted rows that were just written: whoever changes the table next asks for them. */
  keepDeletions({ folder }: Snapshot, path: string, rows: Uint32Array): void {
    this.#deletions.set(join(folder, path), rows);
  }

  /** Closes the files that have been removed and are not being read. */
  async closeRemoved(): Promise<void> {
    this.#codes.rest();
    await this.#files.closeRemoved();
  }

  /** Closes every file that is not being read, and keeps no memory for the next reads. */
  async close(): Promise<void> {
    this.#memory.drop();
    this.#codes.drop();
    await this.#files.close();
  }

  /** Reads what a file of an index holds, so that the next caller finds it in memory. */
  async prewarm(path: string): Promise<void> {
    const isCodes = await this.#files.use(path, async (file) => holdsCodes(file));
    if (isCodes) await this.#codes.codes(path);
    else await this.#indexReader.prewarm(path);
  }

  async #candidates(
    snapshot: Snapshot,
    fragment: Fragment,
    lookup: FragmentLookup,
  ): Promise<Candidates | null> {
    const found = await findRows(lookup, (leaf) =>
      this.#indexReader.rowsOf(snapshot.folder, leaf, fragment.physicalRows),
    );
    if (found === null) return null;
    const deleted = fragment.deletions === null ? NONE : await this.deletions(snapshot, fragment);
    const starts = await this.#first(snapshot, fragment, (file) => file.starts);
    return candidatesOf(found.rows, found.exact, deleted, starts);
  }

  async #rows(
    snapshot: Snapshot,
    fragment: Fragment,
    { index, start }: Pick<CandidateBatch, 'index' | 'start'>,
    columns: readonly string[],
    rows: Uint32Array,
  ): Promise<PickedRows> {
    const plan = planColumns(snapshot, fragment, columns);
    const ids = fragment.storedRowIds ? await this.#storedIds(snapshot, fragment, index) : null;
    const parts: RecordBatch[] = [];
    for (const stretch of stretchesOf(rows)) {
      const first = stretch[0]!;
      const range = { start: first, count: stretch.at(-1)! + 1 - first };
      const read = this.#columns(plan, { index, rows: range.count, range });
      parts.push(pickedPart(read instanceof Promise ? await read : read, stretch));
    }
    const rowIds = idsOfBatch(fragment.firstRowId + BigInt(start), ids, rows);
    return { batch: parts.length === 1 ? parts[0]! : concat(parts), rowIds };
  }

  /** What the first file knows of a batch: where it lies, and how long it is. */
  async #frame(snapshot: Snapshot, fragment: Fragment, index: number) {
    return this.#first(snapshot, fragment, async ({ file, starts }) => ({
      start: starts[index] ?? 0,
      rows: file.batchRows[index] ?? 0,
    }));
  }

  /** The row ids of a batch where they are stored. */
  async #storedIds(
    snapshot: Snapshot,
    fragment: Fragment,
    index: number,
  ): Promise<BigUint64Array | null> {
    if (!fragment.storedRowIds) return null;
    return this.#first(snapshot, fragment, async ({ file }) => {
      const stored = await file.readBatch(index, [STORED_ROW_ID]);
      const ids = stored.getChildAt(0)?.toArray();
      return ids instanceof BigUint64Array ? ids : null;
    });
  }

  async #first<Result>(
    { folder }: Snapshot,
    fragment: Fragment,
    work: (file: OpenDataFile) => Result | Promise<Result>,
  ): Promise<Result> {
    return this.#files.use(join(folder, fragmentKey(fragment)), work);
  }

  /** At once where nothing has to be waited for. */
  #columns(plan: ColumnPlan, { index, rows, range }: Reading): ReadRows | Promise<ReadRows> {
    const lease = new Lease(this.#memory);
    const found = plan.files.map(({ path, places }) =>
      this.#files.use(path, (file) =>
        cachedColumns(this.#columnCache, file, { index, range, places }, (length) =>
          lease.take(length),
        ),
      ),
    );
    const inBatch = (read: readonly ColumnsFound[]): ReadRows => ({
      batch: plannedBatch(plan, read, range?.count ?? rows),
      release: () => lease.release(),
    });
    const ready = found.filter((each): each is ColumnsFound => !(each instanceof Promise));
    if (ready.length === found.length) return inBatch(ready);
    return Promise.all(found.map(async (each) => each)).then(inBatch);
  }
}
