import { join } from 'node:path';
import type { RecordBatch, Schema } from 'apache-arrow';
import { slice } from '../../arrow/select.ts';
import { conform } from '../../arrow/types.ts';
import { Flushes } from '../../storage/flushes.ts';
import { syncFolder } from '../../storage/folder.ts';
import { removeFile } from '../../storage/tree.ts';
import { nextTurn } from '../base/pace.ts';
import { eachOf, asRefusal } from './incoming.ts';
import { FragmentWriter, type WrittenFile } from './fragment-writer.ts';
import { DATA } from './layout.ts';
import { batchBytes, SmallBatches } from './small-batches.ts';

/** A data file stays below 1 GiB. */
const MAX_FILE_BYTES = 2 ** 30;

/** Batches are stored in pieces of about this size, so that a scan needs memory for one piece, not for a client's batch. */
export const PIECE_BYTES = 16 * 2 ** 20;

/** Writing more bytes than this delays other requests: their values are looked at. */
const TURN_BYTES = 2 ** 20;

/** Smaller batches are joined. */
const STORED = { largeBytes: 2 ** 16, largeRows: 8192 };

/**
 * Writes a stream of batches into data files of a table's folder, batch by
 * batch. Files and their names are on stable storage when it returns, or, where
 * flushes are given, when these are settled. Nothing is left behind when it throws.
 */
export async function ingest(
  folder: string,
  schema: Schema,
  batches: AsyncIterable<RecordBatch>,
  flushes?: Flushes,
): Promise<readonly WrittenFile[]> {
  const sink = new Sink(folder, schema);
  try {
    const small = new SmallBatches(STORED);
    await eachOf(batches, async (batch) => {
      for (const piece of pieces(conform(batch, schema))) {
        if (batchBytes(piece) > TURN_BYTES) await nextTurn();
        await sink.writeAll(small.add(piece));
      }
    });
    await sink.writeAll(small.rest());
    const files = await sink.finish();
    if (flushes === undefined) await sink.flushes.settled();
    else flushes.add(sink.flushes.settled());
    return files;
  } catch (error) {
    await sink.abandon();
    throw asRefusal(error);
  }
}

/** Removes files that no version names. */
export async function discard(
  folder: string,
  files: readonly Pick<WrittenFile, 'file'>[],
): Promise<void> {
  await Promise.all(files.map((written) => removeFile(join(folder, written.file))));
}

/** The data files of one stream: a new one is begun when the last is full. */
class Sink {
  readonly #folder: string;
  readonly #schema: Schema;
  readonly #finished: WrittenFile[] = [];
  readonly flushes = new Flushes();
  #writer: FragmentWriter | undefined;

  constructor(folder: string, schema: Schema) {
    this.#folder = folder;
    this.#schema = schema;
  }

  async writeAll(batches: Iterable<RecordBatch>): Promise<void> {
    for (const batch of batches) await this.#write(batch);
  }

  async #write(batch: RecordBatch): Promise<void> {
    if (this.#writer !== undefined && this.#writer.bytes + batchBytes(batch) > MAX_FILE_BYTES) {
      await this.#roll();
    }
    this.#writer ??= await FragmentWriter.create(this.#folder, this.#schema);
    await this.#writer.write(batch);
  }

  /** Ends the last file. The names of all files were there before, so their folder is synced along with it. */
  async finish(): Promise<readonly WrittenFile[]> {
    if (this.#writer !== undefined) {
      await this.#roll();
      this.flushes.add(syncFolder(join(this.#folder, DATA)));
    }
    return this.#finished;
  }

  async abandon(): Promise<void> {
    await this.#writer?.abandon();
    await this.flushes.settled().catch(() => undefined);
    await discard(this.#folder, this.#finished);
  }

  async #roll(): Promise<void> {
    if (this.#writer === undefined) return;
    this.#finished.push(await this.#writer.finish(this.flushes));
    this.#writer = undefined;
  }
}

/** A batch in pieces of the size that is stored. */
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
