import { join } from 'node:path';
import type { RecordBatch, Schema } from 'apache-arrow';
import type { FileSeal } from '../../arrow/sealed/file-seal.ts';
import { SealingWriter } from '../../arrow/sealed/sealing-writer.ts';
import type { Flushes } from '../../storage/flushes.ts';
import type { NewObject, Storage } from '../../storage/storage.ts';
import { newDataFile } from './layout.ts';
import type { TableFolder } from './snapshot.ts';
import { StatisticsWriter } from './statistics-writer.ts';

/** A complete data file. Its name is durable once the folder is flushed. */
export interface WrittenFile {
  /** Path inside the table's folder. */
  readonly file: string;
  readonly rows: number;
  readonly bytes: number;
  /** Statistics in the format of `FileStatistics`. */
  readonly statistics?: Uint8Array | undefined;
  readonly seal: FileSeal;
}

/** Writes are gathered up to this size, in bytes. */
const ENOUGH_BYTES = 2 ** 18;

/**
 * Writes one data file batch by batch. A batch is written while the next is made: its memory must
 * not change before the next batch is written or the file is finished. Small batches are copied and
 * written together.
 */
export class FragmentWriter {
  readonly #writer: SealingWriter;
  readonly #storage: Storage;
  readonly #target: NewObject;
  readonly #path: string;
  readonly #file: string;
  readonly #statistics: StatisticsWriter | undefined;
  #held: Uint8Array[] = [];
  #heldBytes = 0;

  private constructor(
    { storage, folder }: TableFolder,
    schema: Schema,
    statistics: StatisticsWriter | undefined,
  ) {
    const file = newDataFile();
    const path = join(folder, file);
    this.#writer = new SealingWriter(schema);
    this.#statistics = statistics;
    this.#storage = storage;
    this.#target = storage.create(path);
    this.#path = path;
    this.#file = file;
  }

  /**
   * Creates a data file in a table's folder.
   * @param gathers Whether to compute statistics; false for files that no version names.
   */
  static async create(table: TableFolder, schema: Schema, gathers = true): Promise<FragmentWriter> {
    const statistics = gathers ? new StatisticsWriter(schema) : undefined;
    const writer = new FragmentWriter(table, schema, statistics);
    await writer.#add([writer.#writer.begin()]);
    return writer;
  }

  /** Bytes written so far. */
  get bytes(): number {
    return this.#writer.bytes;
  }

  /**
   * Writes a batch.
   * @returns Whether the file has all batches before it; false if this one was copied.
   */
  async write(batch: RecordBatch): Promise<boolean> {
    this.#statistics?.add(batch);
    return this.#add(this.#writer.batch(batch));
  }

  /**
   * Finishes the file. It is durable when this returns or, if flushes are given, when they have
   * settled.
   */
  async finish(flushes?: Flushes): Promise<WrittenFile> {
    const { bytes: end, seal } = this.#writer.end();
    await this.#add([end]);
    await this.#flush([]);
    await this.#target.end();
    const synced = this.#target.sync();
    if (flushes === undefined) await synced;
    else flushes.add(synced);
    const { rows, bytes } = this.#writer;
    return { file: this.#file, rows, bytes, statistics: this.#statistics?.finish(), seal };
  }

  /** Abandons and removes the file. */
  async abandon(): Promise<void> {
    await this.#target.abandon();
    await this.#storage.remove(this.#path);
  }

  async #add(pieces: readonly Uint8Array[]): Promise<boolean> {
    const bytes = pieces.reduce((sum, { byteLength }) => sum + byteLength, this.#heldBytes);
    if (bytes >= ENOUGH_BYTES) {
      await this.#flush(pieces);
      return true;
    }
    // A copy: a few rows may be slices of much memory.
    this.#held.push(Buffer.concat(pieces));
    this.#heldBytes = bytes;
    return false;
  }

  async #flush(last: readonly Uint8Array[]): Promise<void> {
    const pieces = [...this.#held, ...last];
    this.#held = [];
    this.#heldBytes = 0;
    await this.#target.write(pieces);
  }
}
