import type { RecordBatch } from 'apache-arrow';
import { MemoryStorage } from '../../../storage/memory-storage.ts';
import type { OpenPart, VirtualPart, VirtualTable } from '../../../protocol/virtual-table.ts';
import type { RowRange } from '../../../arrow/ipc/row-range.ts';
import { slice, take } from '../../../arrow/select.ts';
import { candidatesOf } from '../../index/keys/candidates.ts';
import type { TextSource } from '../../index/text/text-source.ts';
import type { BatchRange, BatchSource, FragmentBatch, IndexSource } from './batch-source.ts';
import type { DataFile, Fragment, IndexDefinition, Snapshot } from '../../format/snapshot.ts';
import { DroppedMemory } from '../../format/memory/memory-budget.ts';
import { batchBytes } from '../../format/small-batches.ts';
import { StatisticsBytes } from '../../format/statistics-bytes.ts';
import { asVisible, type VisibleSnapshot } from './visible-snapshot.ts';

/** Bytes that are made and dropped for each byte of a batch: its text, and the objects of its rows. */
const MADE_OF = 4;
/** The batches of virtual tables are made anew for each reader. */
const dropped = new DroppedMemory();
/** Readers up to which V8 collects what they dropped early enough by itself. */
const FEW_READERS = 8;
/** Readers that are not closed. */
let readers = 0;

/** A virtual table has no files. */
const noFiles = new MemoryStorage();

/** The only version of a virtual table. */
export const ONLY_VERSION = 1n;

/** Approximate bytes of a row, to estimate the cost of queries. */
const ROW_BYTES = 512;

type Openable = Pick<VirtualPart, 'open'>;

/** What the rows stand for, if they are those of a version of a table. */
interface VirtualVersion {
  readonly version: bigint;
  readonly timestampMillis: number;
  /** Indices of columns, whose ids are their positions. None of them covers a row. */
  readonly indices: readonly IndexDefinition[];
}

/** No deleted rows. */
const NONE = new Uint32Array(0);

/** A snapshot of a virtual table's rows as a source for queries. */
export class VirtualRows implements BatchSource {
  readonly snapshot: VisibleSnapshot;
  readonly #parts: ReadonlyMap<Fragment, Openable>;
  readonly #open = new Map<Fragment, Promise<OpenPart>>();
  /** Whether this is counted as a reader, which is to be closed. */
  #isReader = false;

  private constructor(snapshot: Snapshot, parts: ReadonlyMap<Fragment, Openable>) {
    this.snapshot = asVisible(snapshot);
    this.#parts = parts;
  }

  /** Takes a snapshot of the current rows. */
  static async of(table: VirtualTable, of?: VirtualVersion): Promise<VirtualRows> {
    const { schema } = table;
    const fieldIds = schema.fields.map((_, at) => at);
    const parts = new Map<Fragment, VirtualPart>();
    let rows = 0;
    for (const part of await table.parts()) {
      parts.set(fragmentOf(table, part, parts.size, rows), part);
      rows += part.rows;
    }
    const snapshot: Snapshot = {
      tableId: table.path.join('/'),
      storage: noFiles,
      folder: '/',
      version: of?.version ?? ONLY_VERSION,
      timestampMillis: of?.timestampMillis ?? Date.now(),
      ...(of === undefined ? {} : { indices: of.indices }),
      schema,
      fieldIds,
      nextFieldId: fieldIds.length,
      fragments: [...parts.keys()],
      rows: BigInt(rows),
      nextRowId: BigInt(rows),
    };
    return new VirtualRows(snapshot, parts);
  }

  /**
   * The rows of a snapshot that another thread made, to be closed.
   * @param open Opens the part at a position.
   */
  static from(snapshot: Snapshot, open: (at: number) => Promise<OpenPart>): VirtualRows {
    const { fragments } = snapshot;
    const parts = new Map(fragments.map((fragment, at) => [fragment, { open: () => open(at) }]));
    return VirtualRows.#reader(snapshot, parts);
  }

  /** The same rows, to be read and closed on their own. */
  again(): VirtualRows {
    return VirtualRows.#reader(this.snapshot, this.#parts);
  }

  static #reader(snapshot: Snapshot, parts: ReadonlyMap<Fragment, Openable>): VirtualRows {
    const rows = new VirtualRows(snapshot, parts);
    rows.#isReader = true;
    readers += 1;
    return rows;
  }

  /** How many rows the batches of a part have. */
  async batchRows(fragment: Fragment): Promise<readonly number[]> {
    return (await this.#opened(fragment)).batchRows;
  }

  /** The part at a position, opened. `close` closes it. */
  part(at: number): Promise<OpenPart> {
    return this.#opened(this.snapshot.fragments[at]!);
  }

  async *batches(
    snapshot: Snapshot,
    fragment: Fragment,
    columns: readonly string[],
    _ahead = 0,
    range?: BatchRange,
  ): AsyncGenerator<FragmentBatch> {
    const { batchRows } = await this.#opened(fragment);
    const first = range?.first ?? 0;
    const end = range === undefined ? batchRows.length : first + range.count;
    for (let index = first; index < end; index++) {
      yield await this.batch(snapshot, fragment, index, columns);
    }
  }

  async batch(
    _snapshot: Snapshot,
    fragment: Fragment,
    index: number,
    columns: readonly string[],
    rows?: RowRange,
  ): Promise<FragmentBatch> {
    const part = await this.#opened(fragment);
    const start = part.batchRows.slice(0, index).reduce((sum, count) => sum + count, 0);
    const read = async (): Promise<RecordBatch> => {
      if (rows === undefined) return part.read(index, columns);
      if (part.pick !== undefined) return part.pick(index, columns, listOf(rows));
      return slice(await part.read(index, columns), rows.start, rows.count);
    };
    const batch = await read();
    if (readers > FEW_READERS) dropped.add(MADE_OF * batchBytes(batch));
    return {
      batch,
      index,
      rowIds: { kind: 'range', first: fragment.firstRowId + BigInt(start) },
      start,
      live: null,
      before: start,
      skipped: rows?.start ?? 0,
    };
  }

  async picked(
    fragment: Fragment,
    index: number,
    columns: readonly string[],
    rows: Uint32Array,
  ): Promise<RecordBatch | undefined> {
    const part = await this.#opened(fragment);
    return part.pick?.(index, columns, rows);
  }

  /** Reads rows that a text search found. */
  readonly indices: IndexSource = {
    candidates: async () => null,
    rows: async (snapshot, fragment, { index, start }, columns, rows) => {
      const { batch } = await this.batch(snapshot, fragment, index, columns);
      const first = fragment.firstRowId + BigInt(start);
      const ids = BigUint64Array.from(rows, (row) => first + BigInt(row));
      return { batch: take(batch, rows), rowIds: { kind: 'list', ids } };
    },
  };

  /** No text is indexed: searches read all of them. */
  readonly texts: TextSource = {
    lengths: () => Promise.reject(unindexed()),
    postings: () => Promise.reject(unindexed()),
    visitTokens: () => Promise.reject(unindexed()),
    deletions: async () => NONE,
    rows: async (_snapshot, fragment, rows) =>
      candidatesOf(rows, true, NONE, startsOf(await this.batchRows(fragment))),
  };

  /** Closes what was opened to read. */
  async close(): Promise<void> {
    const open = [...this.#open.values()];
    if (this.#isReader) readers -= 1;
    this.#isReader = false;
    this.#open.clear();
    for (const part of open) await (await part.catch(() => undefined))?.close();
  }

  #opened(fragment: Fragment): Promise<OpenPart> {
    const cached = this.#open.get(fragment) ?? this.#parts.get(fragment)?.open();
    if (cached === undefined) throw new Error('the fragment is not one of this table');
    this.#open.set(fragment, cached);
    return cached;
  }
}

function unindexed(): Error {
  return new Error('rows of a virtual table have no index');
}

function listOf({ start, count }: RowRange): Uint32Array {
  return Uint32Array.from({ length: count }, (_, at) => start + at);
}

/** The first row of each batch. */
function startsOf(batchRows: readonly number[]): readonly number[] {
  let start = 0;
  return batchRows.map((rows) => (start += rows) - rows);
}

function fragmentOf(table: VirtualTable, part: VirtualPart, at: number, before: number): Fragment {
  const file: DataFile = {
    path: `${at}`,
    bytes: ROW_BYTES * part.rows,
    fields: table.schema.fields.map((_, id) => id),
    statistics: statisticsOf(table, part),
  };
  return {
    files: [file],
    physicalRows: part.rows,
    rows: part.rows,
    firstRowId: BigInt(before),
    storedRowIds: false,
    deletions: null,
  };
}

/** Facts of a part as of a data file. The number of batches is unknown before it is opened. */
function statisticsOf({ schema }: VirtualTable, { rows, bounds }: VirtualPart): Uint8Array {
  const bytes = new StatisticsBytes();
  bytes.putCount(1);
  bytes.putCount(0);
  bytes.putCount(schema.fields.length);
  for (const { name } of schema.fields) {
    const cached = bounds.get(name);
    bytes.putSized(() => {
      if (cached !== undefined) bytes.putExtremes({ rows, nulls: 0, nan: false, bounds: cached });
    });
  }
  return bytes.finish();
}
