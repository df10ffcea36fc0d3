import { LRUCache } from 'lru-cache';
import type { Storage } from '../../../storage/storage.ts';
import { join } from 'node:path';
import type { Data, RecordBatch } from 'apache-arrow';
import type { RowRange } from '../../../arrow/ipc/row-range.ts';
import { concat, take } from '../../../arrow/select.ts';
import { candidatesOf, type CandidateBatch, type Candidates } from '../../index/keys/candidates.ts';
import { IndexReader } from '../../index/keys/index-reader.ts';
import { findRows, type FragmentLookup } from '../../index/keys/lookup.ts';
import { placeIn, stretchesOf } from '../../index/keys/row-set.ts';
import { holdsCodes } from '../../index/vectors/code-file.ts';
import { CodeStore, vectorSource, type VectorSource } from '../../index/vectors/code-store.ts';
import { cachedColumns } from '../../format/cached-columns.ts';
import { ColumnCache } from '../../format/memory/column-cache.ts';
import { planColumns, plannedBatch, type ColumnPlan } from '../../format/column-plan.ts';
import { readDeletions } from '../../format/deletion-file.ts';
import { MemoryBudget } from '../../format/memory/memory-budget.ts';
import { OpenFiles, type OnDamage, type OpenDataFile } from '../../format/memory/open-files.ts';
import { idsOfBatches, joinedStretches, type ReadStretch } from './joined-rows.ts';
import { idsOfBatch, liveRows, physicalRange, rowsWithin } from './live-rows.ts';
import { TextReader } from '../../index/text/text-reader.ts';
import { textSource, type TextSource } from '../../index/text/text-source.ts';
import { MemoryLease, ReadMemory, workAhead } from '../../format/memory/read-memory.ts';
import { firstFile, storedIn, type Fragment, type Snapshot } from '../../format/snapshot.ts';
import { storedSizes, type BatchSize } from '../../format/stored-sizes.ts';
import { batchBytes } from '../../format/small-batches.ts';
import { onlyItem } from '../../base/items.ts';
import { nextTurn } from '../../base/pace.ts';
import { allOf, andThen, inTurn, type MaybePromise } from '../../../protocol/maybe-promise.ts';
import { DamagedFile, type StoredFile } from '../../../arrow/sealed/file-seal.ts';
import type { TakeMemory } from '../../../arrow/sealed/portion-checks.ts';
import {
  STORED_ROW_ID,
  type BatchRange,
  type FragmentBatch,
  type BatchSource,
  type IndexSource,
  type PickedRows,
  type RowsOfBatch,
} from './batch-source.ts';

/** Small consecutive rows are not copied: their memory holds little else. In bytes. */
const FEW_BYTES = 2 ** 14;

/** What an index finds; null, for a scan, if a file of the index is damaged. */
function unlessDamaged<Found>(
  finding: () => MaybePromise<Found | null>,
): MaybePromise<Found | null> {
  const passedOver = (error: unknown): null => {
    if (error instanceof DamagedFile) return null;
    throw error;
  };
  try {
    const found = finding();
    return found instanceof Promise ? found.catch(passedOver) : found;
  } catch (error) {
    return passedOver(error);
  }
}

/** Rows that were read, and a function that returns their memory. */
interface ReadRows {
  readonly batch: RecordBatch;
  /** Whether all columns are cached ones, so that no memory is to be returned. */
  readonly isCached: boolean;
  readonly release: () => void;
}

/** Picks rows of a range that was read. @param stretch Positions in the batch, ascending. */
function pickedPart({ batch, isCached, release }: ReadRows, stretch: Uint32Array): RecordBatch {
  const isAll = batch.numRows === stretch.length;
  if (isAll && (isCached || batchBytes(batch) <= FEW_BYTES)) return batch;
  const [first = 0] = stretch;
  const part = take(
    batch,
    stretch.map((row) => row - first),
  );
  release();
  return part;
}

/** The part of a batch to read: all rows or a range. */
interface Reading {
  readonly index: number;
  readonly rows: number;
  readonly range: RowRange | undefined;
}

/** No deleted rows. */
const NONE = new Uint32Array(0);

/** Cache size of lists of deleted rows, in bytes. */
const DELETIONS_BYTES = 16 * 2 ** 20;

/** Reads fragments: data files, deletion files and index files. */
export class FragmentReader implements BatchSource {
  /** Storage of the fragments' files. */
  readonly storage: Storage;
  readonly #files: OpenFiles;
  readonly #opening = new Set<Promise<void>>();
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
  /** Called with each read of a file that does not match its seal. */
  onDamagedFile: OnDamage = () => undefined;
  /** Called for each unusable index file. */
  onDamage: (error: Error) => void = () => undefined;

  /**
   * @param budget Memory of the column cache; no cache if absent.
   * @param budget Memory for columns that are read often; none unless given.
   */
  constructor(storage: Storage, budget = new MemoryBudget(0)) {
    this.storage = storage;
    this.#files = new OpenFiles(storage, (damage) => this.onDamagedFile(damage));
    this.#columnCache = new ColumnCache(budget);
    this.#indexReader = new IndexReader(this.#files, this.#columnCache);
    this.indices = {
      candidates: (...args) => this.#candidates(...args),
      rows: (...args) => this.#rows(...args),
      together: (...args) => this.#together(...args),
    };
    this.#codes = new CodeStore(this.#files, budget, (error) => this.onDamage(error));
    const rows = {
      deletions: (...args: [Snapshot, Fragment]) => this.deletions(...args),
      starts: (...args: [Snapshot, Fragment]) => this.#first(...args, async (file) => file.starts),
    };
    this.vectors = vectorSource(this.#codes, rows);
    this.texts = textSource(new TextReader(this.#files, this.#columnCache), rows);
  }

  /** Number of lookups that an index answered. */
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
    const wanted = range === undefined ? all : all.slice(range.first, range.first + range.count);
    yield* workAhead(wanted, ahead, read);
  }

  async batch(
    snapshot: Snapshot,
    fragment: Fragment,
    index: number,
    columns: readonly string[],
    rows?: RowRange,
  ): Promise<FragmentBatch> {
    const plan = planColumns(snapshot, fragment, columns);
    return this.#batch(snapshot, fragment, index, plan, rows);
  }

  async #batch(
    snapshot: Snapshot,
    fragment: Fragment,
    index: number,
    plan: ColumnPlan,
    part: RowRange | undefined,
  ): Promise<FragmentBatch> {
    const { start, rows } = await this.#frame(snapshot, fragment, index);
    const deleted = await this.deletions(snapshot, fragment);
    const live = liveRows(deleted, start, rows);
    const before = start - placeIn(deleted, start);
    const range = part && physicalRange(part, live);
    const [ids, { batch, release }] = await Promise.all([
      this.#storedIds(snapshot, fragment, index),
      this.#columns(plan, { index, rows, range }),
    ]);
    const rowIds = idsOfBatch(fragment.firstRowId + BigInt(start), ids, live);
    const found = { index, rowIds, start, live, before, skipped: part?.start ?? 0 };
    if (live === null) return { ...found, batch, release };
    const picked =
      part === undefined || range === undefined ? live : rowsWithin(live, part, range.start);
    const left = take(batch, picked);
    release();
    return { ...found, batch: left };
  }

  sizes(...args: [Snapshot, Fragment, readonly string[]]): Promise<readonly BatchSize[] | null> {
    return storedSizes(this.#files, planColumns(...args));
  }

  giveBack(memory: ArrayBufferLike): void {
    this.#memory.giveBack(memory);
  }

  isCached(memory: ArrayBufferLike): boolean {
    return this.#columnCache.holds(memory);
  }

  /** The deleted rows of a fragment, ascending. */
  async deletions(
    { storage, folder }: Snapshot,
    { deletions, deletionsSeal }: Fragment,
  ): Promise<Uint32Array> {
    if (deletions === null) return NONE;
    const stored = storedIn(folder, { path: deletions, seal: deletionsSeal });
    const cached = this.#deletions.get(stored.path);
    if (cached !== undefined) return cached;
    const rows = await this.#watched(readDeletions(storage, stored));
    this.#deletions.set(stored.path, rows);
    return rows;
  }

  async #watched<Result>(reading: Promise<Result>): Promise<Result> {
    try {
      return await reading;
    } catch (error) {
      if (error instanceof DamagedFile) this.onDamagedFile(error);
      throw error;
    }
  }

  /** Caches deleted rows that were just written: the next change reads them. */
  keepDeletions({ folder }: Snapshot, path: string, rows: Uint32Array): void {
    this.#deletions.set(join(folder, path), rows);
  }

  /**
   * Opens a data file that was just written, in the next turn, so that its first reader does not wait for its footer.
   * A fault is left for this reader to find.
   */
  openSoon(stored: StoredFile): void {
    const opened = nextTurn()
      .then(() => this.#files.use(stored, () => undefined))
      .catch(() => undefined);
    this.#opening.add(opened);
    void opened.then(() => this.#opening.delete(opened));
  }

  /** Closes removed files that are not being read. */
  async closeRemoved(): Promise<void> {
    this.#codes.idle();
    await this.#files.closeRemoved();
  }

  /** Closes every file that is not being read, and drops memory for later reads. */
  async close(): Promise<void> {
    this.#memory.drop();
    this.#codes.drop();
    await Promise.all(this.#opening);
    await this.#files.close();
  }

  /** Reads an index file into the cache. */
  async prewarm(stored: StoredFile): Promise<void> {
    const isCodes = await this.#files.use(stored, async (file) => holdsCodes(file));
    if (isCodes) await this.#codes.warm(stored);
    else await this.#indexReader.prewarm(stored);
  }

  #candidates(
    snapshot: Snapshot,
    fragment: Fragment,
    lookup: FragmentLookup,
  ): MaybePromise<Candidates | null> {
    const finding = unlessDamaged(() =>
      findRows(lookup, (leaf) =>
        this.#indexReader.rowsOf(snapshot.folder, leaf, fragment.physicalRows),
      ),
    );
    return andThen(finding, (found) => {
      if (found === null) return null;
      const deletions = fragment.deletions === null ? NONE : this.deletions(snapshot, fragment);
      return andThen(deletions, (deleted) =>
        andThen(this.#starts(snapshot, fragment), (starts) =>
          candidatesOf(found.rows, found.exact, deleted, starts),
        ),
      );
    });
  }

  /** The first row of each batch; at once if the file is open. */
  #starts({ folder }: Snapshot, fragment: Fragment): MaybePromise<readonly number[]> {
    return this.#files.use(firstFile(folder, fragment), ({ starts }) => starts);
  }

  #rows(
    snapshot: Snapshot,
    fragment: Fragment,
    { index, start }: Pick<CandidateBatch, 'index' | 'start'>,
    columns: readonly string[],
    rows: Uint32Array,
  ): MaybePromise<PickedRows> {
    const plan = planColumns(snapshot, fragment, columns);
    const stored = fragment.storedRowIds ? this.#storedIds(snapshot, fragment, index) : null;
    return andThen(stored, (ids) => {
      const parts: RecordBatch[] = [];
      const reading = inTurn(stretchesOf(rows), (stretch) => {
        const [first = 0] = stretch;
        const range = { start: first, count: (stretch.at(-1) ?? first) + 1 - first };
        return andThen(this.#columns(plan, { index, rows: range.count, range }), (read) => {
          parts.push(pickedPart(read, stretch));
          return true;
        });
      });
      return andThen(reading, () => ({
        batch: onlyItem(parts) ?? concat(parts),
        rowIds: idsOfBatch(fragment.firstRowId + BigInt(start), ids, rows),
      }));
    });
  }

  /** Reads the rows of each batch as `#rows` does, and joins them column by column. */
  #together(
    snapshot: Snapshot,
    fragment: Fragment,
    batches: readonly RowsOfBatch[],
    columns: readonly string[],
  ): MaybePromise<PickedRows> {
    const plan = planColumns(snapshot, fragment, columns);
    const stretches = batches.flatMap(({ index, rows }) =>
      stretchesOf(rows).map((stretch) => this.#stretch(plan, index, stretch)),
    );
    const ids = fragment.storedRowIds
      ? Promise.all(batches.map(({ index }) => this.#storedIds(snapshot, fragment, index)))
      : [];
    return andThen(allOf(stretches), (read) =>
      andThen(ids, (stored) => ({
        batch: joinedStretches(plan, read),
        rowIds: idsOfBatches(fragment.firstRowId, batches, stored),
      })),
    );
  }

  #stretch(plan: ColumnPlan, index: number, rows: Uint32Array): MaybePromise<ReadStretch> {
    const [first = 0] = rows;
    const range = { start: first, count: (rows.at(-1) ?? first) + 1 - first };
    const found = this.#ofFiles(plan, index, range, (length) => new Uint8Array(length));
    const wanted = range.count === rows.length ? null : rows.map((row) => row - first);
    return andThen(found, (files) => ({ files, rows: wanted, count: rows.length }));
  }

  /** Position and length of a batch, from the first file. */
  async #frame(snapshot: Snapshot, fragment: Fragment, index: number) {
    return this.#first(snapshot, fragment, async ({ file, starts }) => ({
      start: starts[index] ?? 0,
      rows: file.batchRows[index] ?? 0,
    }));
  }

  /** The stored row ids of a batch. */
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
    work: (file: OpenDataFile) => MaybePromise<Result>,
  ): Promise<Result> {
    return this.#files.use(firstFile(folder, fragment), work);
  }

  /** Reads columns of a batch; synchronously if all are available. */
  #columns(plan: ColumnPlan, { index, rows, range }: Reading): MaybePromise<ReadRows> {
    const lease = new MemoryLease(this.#memory);
    const found = this.#ofFiles(plan, index, range, (length) => lease.take(length));
    return andThen(found, (read) => ({
      batch: plannedBatch(plan, read, range?.count ?? rows),
      isCached: lease.isEmpty,
      release: () => lease.release(),
    }));
  }

  /** The columns of a batch that a plan reads, from each of its files. */
  #ofFiles(
    { files }: ColumnPlan,
    index: number,
    range: RowRange | undefined,
    take: TakeMemory,
  ): MaybePromise<readonly ReadonlyMap<number, Data>[]> {
    const found = files.map(({ stored, places }) =>
      this.#files.use(stored, (file) =>
        cachedColumns(this.#columnCache, file, { index, range, places }, take),
      ),
    );
    return allOf(found);
  }
}
