import { join } from 'node:path';
import type { RecordBatch, Schema } from 'apache-arrow';
import { slice } from '../../arrow/select.ts';
import { conform } from '../../arrow/types.ts';
import { Flushes } from '../../storage/flushes.ts';
import { nextTurn } from '../base/pace.ts';
import { eachOf, asRefusal, type IncomingBatches } from './incoming.ts';
import { FragmentWriter, type WrittenFile } from './fragment-writer.ts';
import { DATA } from './layout.ts';
import type { TableFolder } from './snapshot.ts';
import { batchBytes, SmallBatches } from './small-batches.ts';

/** Greatest size of a data file: 1 GiB. */
const MAX_FILE_BYTES = 2 ** 30;

/**
 * Approximate size of stored batches: a scan needs memory for one of them, not for a client's
 * batch.
 */
export const PIECE_BYTES = 16 * 2 ** 20;

/** Writing more bytes than this delays other requests: their values are looked at. */
const TURN_BYTES = 2 ** 20;

/** Smaller batches are joined. */
const STORED = { largeBytes: 2 ** 16, largeRows: 8192 };

/**
 * Writes a stream of batches to data files in a table's folder. Files and names are durable when
 * this returns or, if flushes are given, when they have settled. Removes its files if it throws.
 */
export async function ingest(
  table: TableFolder,
  schema: Schema,
  batches: IncomingBatches,
  flushes?: Flushes,
): Promise<readonly WrittenFile[]> {
  const sink = new Sink(table, schema);
  try {
    const small = new SmallBatches(STORED);
    /** The last batch that lies nowhere else, and may still be written. */
    let last: RecordBatch | undefined;
    await eachOf(batches, async (batch) => {
      let isWritten = false;
      for (const piece of pieces(conform(batch, schema))) {
        if (batchBytes(piece) > TURN_BYTES) await nextTurn();
        isWritten = (await sink.writeAll(small.add(piece))) || isWritten;
      }
      if (!isWritten) return;
      if (last !== undefined) batches.stored?.(last);
      last = small.isEmpty ? batch : undefined;
    });
    await sink.writeAll(small.rest());
    const files = await sink.finish();
    if (last !== undefined) batches.stored?.(last);
    if (flushes === undefined) await sink.flushes.settled();
    else flushes.add(sink.flushes.settled());
    return files;
  } catch (error) {
    await sink.abandon();
    throw asRefusal(error);
  }
}

/** Removes files that are not named by any version. */
export async function discard(
  { storage, folder }: TableFolder,
  files: readonly Pick<WrittenFile, 'file'>[],
): Promise<void> {
  await Promise.all(files.map(({ file }) => storage.remove(join(folder, file))));
}

/** The data files of one stream. A new file is begun when the last is full. */
class Sink {
  readonly #table: TableFolder;
  readonly #schema: Schema;
  readonly #finished: WrittenFile[] = [];
  readonly flushes = new Flushes();
  #writer: FragmentWriter | undefined;

  constructor(table: TableFolder, schema: Schema) {
    this.#table = table;
    this.#schema = schema;
  }

  /** @returns Whether the files have all earlier batches; false if these were copied. */
  async writeAll(batches: Iterable<RecordBatch>): Promise<boolean> {
    let isWritten = false;
    for (const batch of batches) isWritten = (await this.#write(batch)) || isWritten;
    return isWritten;
  }

  async #write(batch: RecordBatch): Promise<boolean> {
    if (this.#writer !== undefined && this.#writer.bytes + batchBytes(batch) > MAX_FILE_BYTES) {
      await this.#roll();
    }
    this.#writer ??= await FragmentWriter.create(this.#table, this.#schema);
    return this.#writer.write(batch);
  }

  /**
   * Finishes the last file. The names of all files existed before, so the folder is flushed along
   * with it.
   */
  async finish(): Promise<readonly WrittenFile[]> {
    if (this.#writer !== undefined) {
      await this.#roll();
      const { storage, folder } = this.#table;
      this.flushes.add(storage.flush(join(folder, DATA)));
    }
    return this.#finished;
  }

  async abandon(): Promise<void> {
    await this.#writer?.abandon();
    await this.flushes.settled().catch(() => undefined);
    await discard(this.#table, this.#finished);
  }

  async #roll(): Promise<void> {
    if (this.#writer === undefined) return;
    this.#finished.push(await this.#writer.finish(this.flushes));
    this.#writer = undefined;
  }
}

/** Splits a batch into pieces of the stored size. */
export function* pieces(batch: RecordBatch): Generator<RecordBatch> {
  if (batch.numRows === 0) return;
  const count = Math.min(batch.numRows, Math.ceil(batchBytes(batch) / PIECE_BYTES));
  const rows = Math.ceil(batch.numRows / Math.max(1, count));
  for (let start = 0; start < batch.numRows; start += rows) {
    yield rows >= batch.numRows
      ? batch
      : slice(batch, start, Math.min(rows, batch.numRows - start));
  }
}
