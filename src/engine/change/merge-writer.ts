import type { Statement } from '../base/statement.ts';
import { makeData, Uint64, type Data, type RecordBatch } from 'apache-arrow';
import { batchOfData, childData } from '../../arrow/data.ts';
import { nullsOf } from '../../arrow/nullability.ts';
import { take } from '../../arrow/select.ts';
import { schemaOf } from '../../arrow/nested-type.ts';
import type { Flushes } from '../../storage/flushes.ts';
import { coalesce } from '../query/scan/rows.ts';
import { needOf, ROW_ID } from '../request/computed-columns.ts';
import { gather, BatchPlaces } from '../query/scan/gather.ts';
import { Scanner } from '../query/scan/scan.ts';
import { newFragment } from '../format/change.ts';
import type { BatchSource } from '../query/scan/batch-source.ts';
import { ingest, PIECE_BYTES } from '../format/ingest.ts';
import { batchBytes } from '../format/small-batches.ts';
import { countedFrom } from '../query/scan/live-rows.ts';
import type { Fragment, Snapshot } from '../format/snapshot.ts';
import { ComputedColumns } from './computed-values.ts';
import { keptBatch, keptFragment, keptSchema, retypedFields } from './kept-rows.ts';
import type { MergeOutcome } from './merge-outcome.ts';
import type { MergeSource, SourcePiece } from './merge-source.ts';
import type { Wrote } from './row-removal.ts';
import { fieldIndex } from '../../arrow/select.ts';

/** Distance of batches in positions for fetching. */
const STRIDE = 2 ** 32;

/** @throws CatalogError for rows that may not be written */
type CheckBatch = (batch: RecordBatch) => Promise<void>;

/** Writes updated and inserted rows in source order. */
export class MergeWriter {
  readonly #reader: BatchSource;
  readonly #base: Snapshot;
  readonly #source: MergeSource;
  readonly #outcome: MergeOutcome;
  readonly #places = new BatchPlaces();
  readonly #computed: ComputedColumns;
  readonly #check: CheckBatch | undefined;
  #nextRowId: bigint;

  /** @param check Called with the rows that are written. */
  constructor(
    reader: BatchSource,
    base: Snapshot,
    source: MergeSource,
    outcome: MergeOutcome,
    statement: Statement,
    check?: CheckBatch,
  ) {
    this.#check = check;
    this.#reader = reader;
    this.#base = base;
    this.#source = source;
    this.#outcome = outcome;
    this.#nextRowId = base.nextRowId;
    const sent = new Set(source.schema.fields.map(({ name }) => name));
    this.#computed = new ComputedColumns(
      base.schema,
      ({ field }) => sent.has(field.name),
      statement,
    );
    for (const [index, { place }] of outcome.batches.entries()) {
      this.#places.add({ ...place, offset: index * STRIDE });
    }
  }

  /** The new fragments. Inserted rows lie beside updated ones, with ids that are stored. */
  async write(wrote: Wrote, flushes: Flushes): Promise<readonly Fragment[]> {
    const { schema, fieldIds } = this.#base;
    const { updated, inserted } = this.#outcome;
    if (updated + inserted === 0) return [];
    const keepsRowIds = updated > 0;
    const batches = coalesce(this.#checked(keepsRowIds ? this.#keptBatches() : this.#newBatches()));
    const files = await ingest(
      this.#base,
      keepsRowIds ? keptSchema(schema) : schema,
      batches,
      flushes,
    );
    wrote(files.map(({ file }) => file));
    return files.map((file) => {
      if (keepsRowIds) return keptFragment(file, fieldIds);
      const first = this.#nextRowId;
      this.#nextRowId += BigInt(file.rows);
      return newFragment(file, fieldIds, first);
    });
  }

  async *#checked(batches: AsyncGenerator<RecordBatch>): AsyncGenerator<RecordBatch> {
    for await (const batch of batches) {
      await this.#check?.(batch);
      yield batch;
    }
  }

  async *#newBatches(): AsyncGenerator<RecordBatch> {
    const { schema } = this.#base;
    for await (const piece of this.#source.pieces()) {
      const { start, batch } = piece;
      const rows = this.#outcome.insertedIn(start, batch.numRows);
      if (rows.length === 0) continue;
      const columns = await this.#columns(piece, rows, null);
      yield batchOfData(schemaOf(retypedFields(schema, columns)), columns, rows.length);
    }
  }

  async *#keptBatches(): AsyncGenerator<RecordBatch> {
    for await (const piece of this.#source.pieces()) {
      const { start, batch } = piece;
      const end = this.#outcome.updatedBefore(start + batch.numRows);
      const step = rowsAtOnce(batch);
      for (let at = this.#outcome.updatedBefore(start); at < end; at += step) {
        yield await this.#updated(piece, at, Math.min(end, at + step));
      }
      const rows = this.#outcome.insertedIn(start, batch.numRows);
      if (rows.length > 0) yield await this.#inserted(piece, rows);
    }
  }

  async #updated(piece: SourcePiece, from: number, to: number): Promise<RecordBatch> {
    const positions = new Float64Array(to - from);
    const sent = new Uint32Array(to - from);
    for (let at = from; at < to; at++) {
      const { batch, row, source } = this.#outcome.updatedAt(at);
      positions[at - from] = batch * STRIDE + row;
      sent[at - from] = source;
    }
    const old = await this.#old(positions);
    const columns = await this.#columns(piece, sent, old);
    return this.#kept(columns, childData(old.data, fieldIndex(old.schema, ROW_ID.name)));
  }

  /** Kept values of updated rows: ids and columns that were not sent. */
  async #old(positions: Float64Array): Promise<RecordBatch> {
    const sent = new Set(this.#source.schema.fields.map(({ name }) => name));
    const names = this.#base.schema.fields.map(({ name }) => name);
    const need = needOf(this.#base.schema, [
      ...names.filter((name) => !sent.has(name)),
      ROW_ID.name,
    ]);
    return gather(new Scanner(this.#reader, this.#base), this.#places, positions, need);
  }

  async #inserted(piece: SourcePiece, rows: Uint32Array): Promise<RecordBatch> {
    const ids = countedFrom(this.#nextRowId, rows.length, (place) => place);
    this.#nextRowId += BigInt(rows.length);
    return this.#kept(
      await this.#columns(piece, rows, null),
      makeData({ type: new Uint64(), data: ids }),
    );
  }

  #kept(columns: readonly Data[], ids: Data): RecordBatch {
    return keptBatch(this.#base.schema, columns, ids);
  }

  /** Columns of some rows of a piece; columns that were not sent are computed, kept or null. */
  #columns(
    { batch, start }: SourcePiece,
    rows: Uint32Array,
    old: RecordBatch | null,
  ): Promise<Data[]> {
    const taken = take(
      batch,
      rows.map((row) => row - start),
    );
    const columns = this.#base.schema.fields.map(({ name, type }) => {
      const sent = taken.getChild(name) ?? old?.getChild(name);
      return sent?.data[0] ?? nullsOf(type, rows.length);
    });
    return this.#computed.filled(columns, rows.length);
  }
}

/** A source row may update many rows; they are written in portions of the stored size. */
function rowsAtOnce(batch: RecordBatch): number {
  const bytes = batchBytes(batch) / Math.max(1, batch.numRows);
  return Math.max(64, Math.floor(PIECE_BYTES / Math.max(1, bytes)));
}
