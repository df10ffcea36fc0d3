import type { RecordBatch } from 'apache-arrow';
import type { RowRange } from '../../../arrow/ipc/row-range.ts';
import { batchOfData } from '../../../arrow/data.ts';
import { schemaOf } from '../../../arrow/nested-type.ts';
import { concat, take } from '../../../arrow/select.ts';
import type { CandidateBatch, Candidates } from '../../index/keys/candidates.ts';
import type { FragmentLookup } from '../../index/keys/lookup.ts';
import type { BatchRange, BatchSource, FragmentBatch, PickedRows } from './batch-source.ts';
import { chosenPlace, joinedPlace, retainedColumns, withPlaced, type Place } from './place.ts';
import type { Fragment, Snapshot } from '../../format/snapshot.ts';
import { workAhead } from '../../format/memory/read-memory.ts';
import type { VectorSource } from '../../index/vectors/code-store.ts';
import type { ColumnNeed } from '../../request/computed-columns.ts';
import { andThen, type MaybePromise } from '../../../protocol/maybe-promise.ts';
import { countOf, fewOf, listed, relativeRows, pick, rowAt, stretch, type Rows } from './rows.ts';

/** A data file to scan, or some of its batches, and the number of rows of the table before it. */
export interface ScanFile {
  readonly fragment: Fragment;
  readonly offset: number;
  /** Absent for all batches. */
  readonly batches?: BatchRange | undefined;
  /** Number of rows of the batches, including deleted ones. */
  readonly rows?: number | undefined;
  /** Whether all rows are known to pass the filter. */
  readonly certain?: boolean | undefined;
  /** Rows chosen by a vector index, all of which pass the filter: only these are read. */
  readonly chosen?: Uint32Array | undefined;
  /** Index lookup of the filter; absent if no index covers the file. */
  readonly lookup?: FragmentLookup | undefined;
}

/** A batch with the requested columns, and its place. */
export interface PlacedBatch {
  readonly place: Place;
  readonly batch: RecordBatch;
  /** Whether all rows pass the filter of the scan. */
  readonly certain?: boolean | undefined;
  /**
   * Returns the memory of the batch. Call it when nothing uses the batch any more; the call is
   * optional.
   */
  readonly release?: (() => void) | undefined;
}

/** Columns that were read are kept for at most this number of chosen rows. */
export const KEPT_ROWS = 64;

/** Reads the batches of a table at one version. */
export class Scanner {
  readonly #source: BatchSource;
  readonly #snapshot: Snapshot;
  readonly #found = new Map<FragmentLookup, MaybePromise<Candidates | null>>();

  constructor(source: BatchSource, snapshot: Snapshot) {
    this.#source = source;
    this.#snapshot = snapshot;
  }

  /** Whether some rows of a batch can be read alone, at no more cost than their own. */
  get picks(): boolean {
    return this.#source.picked !== undefined;
  }

  /** Access to vector indices; undefined if unavailable. */
  get vectors(): VectorSource | undefined {
    return this.#source.vectors;
  }

  /**
   * Scans files in order with the columns of the need. `ahead` batches are read in advance. Files
   * with a lookup yield only the rows that it finds.
   * @param needIfCertain Columns to read if all rows are known to pass the filter.
   */
  async *scan(
    files: Iterable<ScanFile>,
    need: ColumnNeed,
    ahead = 0,
    needIfCertain = need,
  ): AsyncGenerator<PlacedBatch> {
    for (const file of files) {
      const { fragment, batches, certain } = file;
      const found = await this.candidates(file);
      if (found !== null && file.chosen !== undefined && this.#isFew(found, need)) {
        yield this.#together(file, found, need);
        continue;
      }
      if (found !== null) {
        yield* this.#chosen(file, found, found.exact ? needIfCertain : need, ahead);
        continue;
      }
      const read = [this.#snapshot, fragment, need.stored, ahead, batches] as const;
      for await (const found of this.#source.batches(...read)) {
        const { batch, index, rowIds, start, live, before, release } = found;
        const { numRows: rows } = batch;
        const offset = file.offset + before;
        const place = { fragment, index, rowIds, offset, rows, start, live };
        const all = stretch(0, rows);
        yield { place, batch: withPlaced(batch, place, need.placed, all), certain, release };
      }
    }
  }

  /** Rows of a file that an index finds; null without an index. */
  candidates({ fragment, lookup, batches, chosen }: ScanFile): MaybePromise<Candidates | null> {
    const { indices, vectors } = this.#source;
    if (chosen !== undefined && vectors !== undefined) {
      return vectors.candidates(this.#snapshot, fragment, chosen);
    }
    if (lookup === undefined || indices === undefined) return null;
    const found = this.#found.get(lookup) ?? indices.candidates(this.#snapshot, fragment, lookup);
    this.#found.set(lookup, found);
    return batches === undefined
      ? found
      : andThen(found, (candidates) => candidates && candidatesWithin(candidates, batches));
  }

  #chosen(
    file: ScanFile,
    { batches, exact }: Candidates,
    need: ColumnNeed,
    ahead: number,
  ): AsyncGenerator<PlacedBatch> {
    return workAhead(batches, ahead, async (batch) => this.chosenBatch(file, batch, need, exact));
  }

  /** Whether chosen rows are few enough to be read together. */
  #isFew({ batches, count }: Candidates, need: ColumnNeed): boolean {
    const isRead = need.stored.length > 0 && this.#source.indices?.together !== undefined;
    return isRead && batches.length > 1 && count <= KEPT_ROWS;
  }

  /** A few rows of several batches that were chosen, as those of one: a batch for each costs more than its rows. */
  async #together(
    { fragment, offset }: ScanFile,
    { batches, exact }: Candidates,
    need: ColumnNeed,
  ): Promise<PlacedBatch> {
    const read = this.#source.indices?.together?.(this.#snapshot, fragment, batches, need.stored);
    const [first, ...others] = batches.map((batch) => chosenPlace(fragment, offset, batch));
    if (read === undefined || first === undefined) throw new Error('no rows to read together');
    const picked = await read;
    const place = joinedPlace([first, ...others], picked);
    const all = stretch(0, place.rows);
    return { place, batch: withPlaced(picked.batch, place, need.placed, all), certain: exact };
  }

  /**
   * Rows of a batch that an index found.
   * @param certain Whether each passes the filter of the scan.
   */
  chosenBatch(
    { fragment, offset }: ScanFile,
    found: CandidateBatch,
    need: ColumnNeed,
    certain: boolean,
  ): MaybePromise<PlacedBatch> {
    const { rows } = found;
    const place = chosenPlace(fragment, offset, found);
    return andThen(this.#picked(place, need, rows), ({ batch, rowIds }) => {
      const retained = rows.length <= KEPT_ROWS ? batch : undefined;
      const numbered = { ...place, rowIds, retained };
      const all = stretch(0, rows.length);
      return { place: numbered, batch: withPlaced(batch, numbered, need.placed, all), certain };
    });
  }

  /**
   * Places of rows of a file that were found by other means; they are numbered among themselves.
   * @param need Columns that a place of few rows keeps.
   */
  async *chosen(file: ScanFile, candidates: Candidates, need: ColumnNeed): AsyncGenerator<Place> {
    if (this.#isFew(candidates, need)) yield (await this.#together(file, candidates, need)).place;
    else for await (const { place } of this.#chosen(file, candidates, need, 0)) yield place;
  }

  /** Rows of a place whose columns are kept, in the given order; undefined where some are missing. */
  kept(place: Place, need: ColumnNeed, rows: Uint32Array): RecordBatch | undefined {
    const retained = retainedColumns(place, need);
    if (retained === undefined) return undefined;
    return withPlaced(take(retained, rows), place, need.placed, { kind: 'list', rows });
  }

  #picked(place: Place, { stored }: ColumnNeed, rows: Uint32Array): MaybePromise<PickedRows> {
    const { indices } = this.#source;
    if (indices === undefined) throw new Error('rows that an index chose need one to be read');
    return indices.rows(this.#snapshot, place.fragment, place, stored, rows);
  }

  /** Reads rows of an earlier batch with the columns of the need. */
  async read(place: Place, need: ColumnNeed, rows: Rows): Promise<RecordBatch> {
    if (place.ranks !== undefined) {
      const retained = retainedColumns(place, need);
      if (retained !== undefined) return withPlaced(pick(retained, rows), place, need.placed, rows);
      if (place.parts !== undefined)
        return withPlaced(await this.#apart(place.parts, need, rows), place, need.placed, rows);
      const row = rowAt(rows);
      const live = Uint32Array.from({ length: countOf(rows) }, (_, at) => place.live![row(at)]!);
      const { batch } = await this.#picked(place, need, live);
      return withPlaced(batch, place, need.placed, rows);
    }
    if (rows.kind === 'list') {
      const own = await this.#source.picked?.(place.fragment, place.index, need.stored, rows.rows);
      if (own !== undefined) return withPlaced(own, place, need.placed, rows);
    }
    const found = await this.#batch(place, need, fewOf(rows, place.rows));
    const picked = pick(found.batch, relativeRows(rows, found.skipped));
    if (rows.kind === 'list') found.release?.();
    return withPlaced(picked, place, need.placed, rows);
  }

  /** More columns of rows that were read together. */
  async #apart(parts: readonly Place[], { stored }: ColumnNeed, rows: Rows): Promise<RecordBatch> {
    const [count, row] = [countOf(rows), rowAt(rows)];
    const found: RecordBatch[] = [];
    let [first, at] = [0, 0];
    for (const part of parts) {
      const own: number[] = [];
      for (; at < count && row(at) < first + part.rows; at++) own.push(row(at) - first);
      first += part.rows;
      if (own.length === 0) continue;
      const some = listed(Uint32Array.from(own), part.rows);
      found.push(await this.read(part, { stored, placed: [] }, some));
    }
    return concat(found);
  }

  /**
   * Adds the columns of the need to rows of a batch. Rows of a list are copied, and the batch is no
   * longer used.
   */
  async complete(found: PlacedBatch, need: ColumnNeed, rows: Rows): Promise<RecordBatch> {
    const picked = pick(found.batch, rows);
    if (rows.kind === 'list') found.release?.();
    if (need.stored.length === 0) return withPlaced(picked, found.place, need.placed, rows);
    return beside(picked, await this.read(found.place, need, rows));
  }

  /** Adds the columns of the need to a batch. */
  async widen(found: PlacedBatch, need: ColumnNeed): Promise<PlacedBatch> {
    const { place, certain } = found;
    if (need.stored.length === 0 && need.placed.length === 0) return found;
    const all = stretch(0, place.rows);
    if (place.ranks !== undefined) {
      return { place, batch: beside(found.batch, await this.read(place, need, all)), certain };
    }
    const late = await this.#batch(place, need);
    const batch = beside(found.batch, late.batch);
    const release = () => {
      found.release?.();
      late.release?.();
    };
    return { place, batch: withPlaced(batch, place, need.placed, all), certain, release };
  }

  #batch(
    { fragment, index }: Place,
    { stored }: ColumnNeed,
    rows?: RowRange,
  ): Promise<FragmentBatch> {
    return this.#source.batch(this.#snapshot, fragment, index, stored, rows);
  }
}

/** Those of some batches. */
function candidatesWithin(
  { exact, batches }: Candidates,
  { first, count }: BatchRange,
): Candidates {
  const own = batches.filter(({ index }) => index >= first && index < first + count);
  const total = own.reduce((sum, { rows }) => sum + rows.length, 0);
  return { exact, count: total, batches: own };
}

function beside(left: RecordBatch, right: RecordBatch): RecordBatch {
  const schema = schemaOf([...left.schema.fields, ...right.schema.fields], left.schema.metadata);
  const columns = [...left.data.children, ...right.data.children];
  return batchOfData(schema, columns, left.numRows);
}
