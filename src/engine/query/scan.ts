import {
  makeData,
  makeVector,
  Uint64,
  type Field,
  type RecordBatch,
  type Vector,
} from 'apache-arrow';
import type { RowRange } from '../../arrow/row-range.ts';
import { batchOfData } from '../../arrow/batch.ts';
import { schemaOf } from '../../arrow/nested-type.ts';
import { withColumn } from '../../arrow/select.ts';
import type { BatchRange, BatchSource, FragmentBatch } from '../table/fragment-reader.ts';
import { idsOf, type RowIds } from '../table/row-ids.ts';
import type { Fragment, Snapshot } from '../table/snapshot.ts';
import { ROW_ID, type ColumnNeed } from './computed-columns.ts';
import { countOf, moved, pick, rangeOf, rowAt, stretch, type Rows } from './rows.ts';

/** A data file to scan, or some of its batches, and how many rows of the table lie before the file. */
export interface ScanFile {
  readonly fragment: Fragment;
  readonly offset: number;
  /** Absent for all batches. */
  readonly batches?: BatchRange | undefined;
  /** How many rows those batches have, deleted ones included. */
  readonly rows?: number | undefined;
  /** Whether it is known without reading that each of the rows passes the filter. */
  readonly certain?: boolean | undefined;
}

/** Where a batch lies in its table. */
export interface Place {
  readonly fragment: Fragment;
  /** Position of the batch in its file. */
  readonly index: number;
  readonly rowIds: RowIds;
  /** How many rows of the table lie before its first. */
  readonly offset: number;
  readonly rows: number;
  /** Position in the data file of the batch's first physical row. */
  readonly start: number;
  /** The physical rows of the batch that are not deleted, ascending; null for all. */
  readonly live: Uint32Array | null;
}

/** A batch with the columns that were asked for, and its place. */
export interface PlacedBatch {
  readonly place: Place;
  readonly batch: RecordBatch;
  /** Whether each of the rows passes the filter of the scan. */
  readonly certain?: boolean | undefined;
  /** Gives the memory of the batch back: to be called once nothing looks at it, or never. */
  readonly release?: (() => void) | undefined;
}

/** Reads the batches of a table at one version. */
export class Scanner {
  readonly #source: BatchSource;
  readonly #snapshot: Snapshot;

  constructor(source: BatchSource, snapshot: Snapshot) {
    this.#source = source;
    this.#snapshot = snapshot;
  }

  /** The batches of some files in order, with the columns of the need; so many are read ahead. */
  async *scan(
    files: readonly ScanFile[],
    need: ColumnNeed,
    ahead = 0,
  ): AsyncGenerator<PlacedBatch> {
    for (const file of files) {
      const { fragment, batches, certain } = file;
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

  /** Some rows of a batch that was passed before, with the columns of the need. */
  async read(place: Place, need: ColumnNeed, rows: Rows): Promise<RecordBatch> {
    const found = await this.#batch(place, need, fewOf(rows, place));
    const picked = pick(found.batch, moved(rows, found.skipped));
    if (rows.kind === 'list') found.release?.();
    return withPlaced(picked, place, need.placed, rows);
  }

  /**
   * Some rows of a batch that has some columns already, with those of the need
   * beside them. The rows of a list are copied: the batch is not used any more.
   */
  async complete(found: PlacedBatch, need: ColumnNeed, rows: Rows): Promise<RecordBatch> {
    const picked = pick(found.batch, rows);
    if (rows.kind === 'list') found.release?.();
    if (need.stored.length === 0) return withPlaced(picked, found.place, need.placed, rows);
    return beside(picked, await this.read(found.place, need, rows));
  }

  /** A batch that has some columns already, with those of the need beside them. */
  async widen(found: PlacedBatch, need: ColumnNeed): Promise<PlacedBatch> {
    const { place, certain } = found;
    if (need.stored.length === 0 && need.placed.length === 0) return found;
    const late = await this.#batch(place, need);
    const batch = beside(found.batch, late.batch);
    const release = () => {
      found.release?.();
      late.release?.();
    };
    const all = stretch(0, place.rows);
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

/** The range of rows that is worth being read alone. */
function fewOf(rows: Rows, place: Place): RowRange | undefined {
  const range = rangeOf(rows);
  return 2 * range.count < place.rows ? range : undefined;
}

function beside(left: RecordBatch, right: RecordBatch): RecordBatch {
  const schema = schemaOf([...left.schema.fields, ...right.schema.fields], left.schema.metadata);
  const columns = [...left.data.children, ...right.data.children];
  return batchOfData(schema, columns, left.numRows);
}

function withPlaced(
  batch: RecordBatch,
  place: Place,
  fields: readonly Field[],
  rows: Rows,
): RecordBatch {
  return fields.reduce(
    (wider, field) => withColumn(wider, field, placed(field, place, rows)),
    batch,
  );
}

function placed(field: Field, place: Place, rows: Rows): Vector {
  const ids: RowIds =
    field === ROW_ID ? place.rowIds : { kind: 'range', first: BigInt(place.offset) };
  const data = idsOf(ids, countOf(rows), rowAt(rows));
  return makeVector(makeData({ type: new Uint64(), data }));
}
