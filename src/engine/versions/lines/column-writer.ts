import type { Storage } from '../../../storage/storage.ts';
import { join } from 'node:path';
import type { Data, Field, RecordBatch, Vector } from 'apache-arrow';
import { batchOfData } from '../../../arrow/data.ts';
import { concatData } from '../../../arrow/concat.ts';
import { schemaOf } from '../../../arrow/nested-type.ts';
import { nullsOf } from '../../../arrow/nullability.ts';
import { batchOf, take } from '../../../arrow/select.ts';
import { takeData } from '../../../arrow/take.ts';
import { Flushes } from '../../../storage/flushes.ts';
import { Pace } from '../../base/pace.ts';
import type { FragmentReader } from '../../query/scan/fragment-reader.ts';
import { liveRows } from '../../query/scan/live-rows.ts';
import { FragmentWriter, type WrittenFile } from '../../format/fragment-writer.ts';
import { discard } from '../../format/ingest.ts';
import { DATA } from '../../format/layout.ts';
import type { Fragment, Snapshot, TableFolder } from '../../format/snapshot.ts';

/** Columns to compute for the rows that a table has. */
interface ColumnWork {
  /** The new columns. */
  readonly fields: readonly Field[];
  readonly ids: readonly number[];
  /** The columns that are read for them, by name. */
  readonly reads: readonly string[];
  /** The new columns of some rows, in the order of the fields. Never called for deleted rows. */
  readonly values: (rows: RecordBatch) => readonly Vector[] | Promise<readonly Vector[]>;
}

/**
 * Writes further columns of fragments into data files of their own, batch for
 * batch beside the others. A deleted row gets a null.
 */
export class ColumnWriter {
  readonly #reader: FragmentReader;
  readonly #table: TableFolder;
  readonly #written: WrittenFile[] = [];
  readonly #cache = new Map<string, WrittenFile>();
  readonly #flushes = new Flushes();
  #basis = '';

  constructor(storage: Storage, reader: FragmentReader, folder: string) {
    this.#reader = reader;
    this.#table = { storage, folder };
  }

  /**
   * The fragments of a version with a further file each. Where the work is done
   * again over the same columns, files of fragments that are still the same serve again.
   */
  async extended(snapshot: Snapshot, work: ColumnWork): Promise<readonly Fragment[]> {
    this.#begin(snapshot, work);
    const extended: Fragment[] = [];
    for (const fragment of snapshot.fragments) {
      const { file, bytes, statistics, seal } = await this.#fileOf(snapshot, fragment, work);
      const added = { path: file, bytes, fields: work.ids, statistics, seal };
      extended.push({ ...fragment, files: [...fragment.files, added] });
    }
    const { storage, folder } = this.#table;
    if (extended.length > 0) this.#flushes.add(storage.flush(join(folder, DATA)));
    await this.#flushes.settled();
    return extended;
  }

  /** Removes the files that were written and that none of these fragments names. */
  async keepOnly(fragments: readonly Fragment[]): Promise<void> {
    const named = new Set(fragments.flatMap(({ files }) => files.map(({ path }) => path)));
    const lost = this.#written.filter(({ file }) => !named.has(file));
    await discard(this.#table, lost);
  }

  /** Files that were computed from other columns are of no use any more. */
  #begin({ schema, fieldIds }: Snapshot, work: ColumnWork): void {
    const types = [...schema.fields, ...work.fields].map(String);
    const basis = JSON.stringify([fieldIds, types, work.reads]);
    if (basis !== this.#basis) this.#cache.clear();
    this.#basis = basis;
  }

  async #fileOf(snapshot: Snapshot, fragment: Fragment, work: ColumnWork): Promise<WrittenFile> {
    const key = JSON.stringify([fragment.files.map(({ path }) => path), fragment.deletions]);
    const cached = this.#cache.get(key);
    if (cached !== undefined) return cached;
    const written = await this.#write(snapshot, fragment, work);
    this.#written.push(written);
    this.#cache.set(key, written);
    return written;
  }

  async #write(snapshot: Snapshot, fragment: Fragment, work: ColumnWork): Promise<WrittenFile> {
    const schema = schemaOf(work.fields.map((field) => field.clone({ nullable: true })));
    const deleted = await this.#reader.deletions(snapshot, fragment);
    const whole = { ...fragment, deletions: null };
    const writer = await FragmentWriter.create(this.#table, schema);
    const pace = new Pace();
    try {
      for await (const { batch, start } of this.#reader.batches(snapshot, whole, work.reads)) {
        const columns = await computed(batch, liveRows(deleted, start, batch.numRows), work);
        await writer.write(batchOfData(schema, [...columns], batch.numRows));
        await pace.turn();
      }
      return await writer.finish(this.#flushes);
    } catch (error) {
      await writer.abandon();
      throw error;
    }
  }
}

/** The new columns of a batch: of its rows that are there computed, of the others null. */
async function computed(
  batch: RecordBatch,
  live: Uint32Array | null,
  work: ColumnWork,
): Promise<readonly Data[]> {
  const rows = live === null ? batch : take(batch, live);
  const schema = schemaOf(work.fields.map((field) => field.clone({ nullable: true })));
  const columns = batchOf(schema, await work.values(rows), rows.numRows).data.children;
  return live === null ? columns : columns.map((column) => spread(column, live, batch.numRows));
}

/** Values put back to the rows that they belong to. */
function spread(column: Data, live: Uint32Array, rows: number): Data {
  const places = new Uint32Array(rows).fill(live.length);
  live.forEach((row, place) => (places[row] = place));
  return takeData(concatData([column, nullsOf(column.type, 1)]), places);
}
