import { Schema, type RecordBatch } from 'apache-arrow';
import { batchOfData } from '../../../arrow/data.ts';
import { concat, slice, take } from '../../../arrow/select.ts';
import type { OpenPart, VirtualPart } from '../../../protocol/virtual-table.ts';
import { seenRows } from '../../query/restrict/row-verdicts.ts';
import { maskedRows, storedColumns } from '../../query/restrict/visible-rows.ts';
import { closing, type BoundRestrictions } from '../../query/restrict/bound-restrictions.ts';
import { VirtualRows } from '../../query/scan/virtual-rows.ts';
import { LibraryEnded, type LanceLibrary } from '../../versions/managed/lance-library.ts';
import { identifiedRows, type IdentifiedRows } from './identified-rows.ts';
import type { ReadableVersion } from './library-reads.ts';

/** A version of a Lance table, whose rows a caller may see in part. */
export interface LibrarySource {
  readonly library: LanceLibrary;
  readonly place: ReadableVersion;
  readonly bound: BoundRestrictions;
}

/** Rows of a batch, at most. */
const BATCH_ROWS = 8192;
/** Bytes of a batch, about. */
const BATCH_BYTES = 2 ** 22;
/** A scan is faster than reading rows by their ids, if it reads fewer rows than this times the visible ones. */
const SCANNED_FOR_ONE = 8;
/** How often work is begun again because the process of the library ended. */
const MAX_REPEATS = 2;

/** The rows of a version of a Lance table that a caller may see. */
export interface VisibleLibraryTable {
  readonly bound: BoundRestrictions;
  readonly rows: VirtualRows;
  /** The ids of the rows of each batch. */
  readonly batches: readonly BigUint64Array[];
}

/** The ids of visible rows. */
interface SeenIds {
  /** For each batch, in the order of the table. */
  readonly batches: readonly BigUint64Array[];
  readonly rows: number;
  /** The number of rows of the version. */
  readonly all: number;
}

/**
 * The rows of a version of a Lance table that the caller may see, as a table of their own. The library
 * delivers the columns of the row filters for all rows; they are evaluated here, and each visible row is
 * known by its id from then on: 8 bytes of the memory of the request. No expression reaches the library.
 * @throws CatalogError PermissionDenied for a row filter that fails on a row; Unsupported for a type
 */
export async function visibleLibraryTable(source: LibrarySource): Promise<VisibleLibraryTable> {
  const { bound, place } = source;
  const seen = await repeated(() => seenIds(source));
  const part: VirtualPart = {
    rows: seen.rows,
    bounds: new Map(),
    open: async () => new LibraryPart(source, seen),
  };
  const parts = async () => (seen.rows === 0 ? [] : [part]);
  const table = { path: bound.object, schema: bound.schema, parts };
  const { version } = place.at;
  const rows = await VirtualRows.of(table, { version, timestampMillis: 0, indices: [] });
  return { bound, rows, batches: seen.batches };
}

async function seenIds(source: LibrarySource): Promise<SeenIds> {
  const { place, bound } = source;
  const { filter, statement } = bound;
  const size = batchRowsOf(place.columns.rowBytes);
  const batches: BigUint64Array[] = [];
  let last = new BigUint64Array(0);
  let [all, filled] = [0, size];
  let charged = 0;
  try {
    for await (const { batch, ids } of identified(source, filter?.columns ?? [], null)) {
      statement.signal().throwIfAborted();
      all += batch.numRows;
      const rows = await seenRows(batch, bound);
      const count = rows?.length ?? batch.numRows;
      for (let row = 0; row < count; row++) {
        if (filled === last.length || filled === size) {
          statement.budget.charge(8 * size);
          charged += 8 * size;
          last = new BigUint64Array(size);
          filled = 0;
          batches.push(last);
        }
        last[filled++] = ids[rows === null ? row : rows[row]!]!;
      }
    }
  } catch (error) {
    statement.budget.release(charged);
    // An error of the library could name a column that is hidden.
    throw closing(error, bound.restrictions.names[0] ?? '', bound.object);
  }
  const end = batches.length - 1;
  if (end >= 0) batches[end] = last.subarray(0, filled);
  return { batches, rows: Math.max(0, end) * size + (end < 0 ? 0 : filled), all };
}

function batchRowsOf(rowBytes: number): number {
  return Math.max(1, Math.min(BATCH_ROWS, Math.floor(BATCH_BYTES / Math.max(1, rowBytes))));
}

function identified(
  { library, place, bound }: LibrarySource,
  columns: readonly string[],
  ids: BigUint64Array | null,
): AsyncGenerator<IdentifiedRows> {
  const { schema } = place.columns;
  const fields = columns.map((name) => schema.fields.find((field) => field.name === name)!);
  return identifiedRows(
    () => library.rows(place, columns, ids, bound.statement),
    new Schema(fields),
    bound.object,
  );
}

/** Begins work again when a process of the library ended before it had a result. */
async function repeated<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let repeats = 0; ; repeats++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof LibraryEnded) || repeats === MAX_REPEATS) throw error;
    }
  }
}

/** A scan in progress, of which visible rows are taken batch by batch. */
interface OpenScan {
  readonly columns: string;
  readonly rows: AsyncGenerator<IdentifiedRows>;
  /** Position of the next batch. */
  next: number;
  /** Rows that were delivered and not looked at. */
  rest: IdentifiedRows | null;
}

/**
 * Batches of visible rows. Where most rows of the table are visible, batches that are read one after the other come from one
 * scan; others are read by the ids of their rows. There is one task of the library at a time, so that no task waits for another.
 */
class LibraryPart implements OpenPart {
  readonly batchRows: readonly number[];
  readonly #source: LibrarySource;
  readonly #seen: SeenIds;
  #scan: OpenScan | null = null;
  #last: Promise<unknown> = Promise.resolve();

  constructor(source: LibrarySource, seen: SeenIds) {
    this.#source = source;
    this.#seen = seen;
    this.batchRows = seen.batches.map(({ length }) => length);
  }

  read(index: number, columns: readonly string[]): Promise<RecordBatch> {
    return this.#alone(async () => {
      const { bound } = this.#source;
      const names = storedColumns(bound, columns);
      return maskedRows(bound, columns, await this.#stored(index, names));
    });
  }

  close(): Promise<void> {
    return this.#alone(() => this.#endScan());
  }

  #alone<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }

  async #stored(index: number, names: readonly string[]): Promise<RecordBatch> {
    const ids = this.#seen.batches[index]!;
    if (names.length === 0) return batchOfData(new Schema([]), [], ids.length);
    const scan = await this.#scanAt(index, JSON.stringify(names), names);
    if (scan === null) return repeated(() => this.#byIds(names, ids));
    try {
      scan.next++;
      return await scanned(scan, ids);
    } catch (error) {
      await this.#endScan();
      if (!(error instanceof LibraryEnded)) throw error;
      return repeated(() => this.#byIds(names, ids));
    }
  }

  /** The scan whose next rows are those of a batch; null if they are read by their ids. */
  async #scanAt(
    index: number,
    columns: string,
    names: readonly string[],
  ): Promise<OpenScan | null> {
    const open = this.#scan;
    if (open?.columns === columns && open.next === index) return open;
    await this.#endScan();
    const { rows, all } = this.#seen;
    if (index > 0 || all > SCANNED_FOR_ONE * rows) return null;
    this.#scan = { columns, rows: identified(this.#source, names, null), next: 0, rest: null };
    return this.#scan;
  }

  async #endScan(): Promise<void> {
    const scan = this.#scan;
    this.#scan = null;
    await scan?.rows.return(undefined);
  }

  async #byIds(names: readonly string[], ids: BigUint64Array): Promise<RecordBatch> {
    const found: IdentifiedRows[] = [];
    for await (const each of identified(this.#source, names, ids)) found.push(each);
    const rows = new Map<bigint, number>();
    let row = 0;
    for (const each of found) for (const id of each.ids) rows.set(id, row++);
    const batch = joined(found.map((each) => each.batch));
    const places = Array.from(ids, (id) => rows.get(id) ?? lost());
    return places.every((place, at) => place === at) && places.length === row
      ? batch
      : take(batch, Uint32Array.from(places));
  }
}

/** The next rows of a scan that have these ids; others are skipped. */
async function scanned(scan: OpenScan, ids: BigUint64Array): Promise<RecordBatch> {
  const parts: RecordBatch[] = [];
  let found = 0;
  while (found < ids.length) {
    if (scan.rest === null) {
      const next = await scan.rows.next();
      if (next.done === true) return lost();
      scan.rest = next.value;
    }
    const { batch, ids: delivered } = scan.rest;
    const kept: number[] = [];
    let row = 0;
    for (; row < delivered.length && found < ids.length; row++) {
      if (delivered[row] !== ids[found]) continue;
      kept.push(row);
      found++;
    }
    parts.push(kept.length === batch.numRows ? batch : take(batch, Uint32Array.from(kept)));
    scan.rest =
      row === delivered.length
        ? null
        : { batch: slice(batch, row, batch.numRows - row), ids: delivered.subarray(row) };
  }
  return joined(parts);
}

function joined(parts: readonly RecordBatch[]): RecordBatch {
  const filled = parts.filter(({ numRows }) => numRows > 0);
  return filled.length === 0 ? (parts[0] ?? lost()) : concat(filled);
}

function lost(): never {
  throw new Error('the library has not delivered a row that it delivered before');
}
