import { join } from 'node:path';
import type { RecordBatch, Schema } from 'apache-arrow';
import { FileWriter } from '../../arrow/ipc/file-writer.ts';
import type { Flushes } from '../../storage/flushes.ts';
import { StreamedFile } from '../../storage/streamed-file.ts';
import { removeFile } from '../../storage/tree.ts';
import { newDataFile } from './layout.ts';
import { StatisticsWriter } from './statistics-writer.ts';

/** A data file that is complete. Its name is not on stable storage until the folder is synced. */
export interface WrittenFile {
  /** Path inside the table's folder. */
  readonly file: string;
  readonly rows: number;
  readonly bytes: number;
  /** What is known of the values, as `FileStatistics` reads it. */
  readonly statistics?: Uint8Array | undefined;
}

/** So many bytes are worth a system call. */
const ENOUGH_BYTES = 2 ** 18;

/**
 * Writes one data file batch by batch. A batch goes to the operating system while
 * the next is made, so its memory must stay as it is until that one is written or
 * the file is ended; copies of small ones wait for each other.
 */
export class FragmentWriter {
  readonly #writer: FileWriter;
  readonly #target: StreamedFile;
  readonly #path: string;
  readonly #file: string;
  readonly #statistics: StatisticsWriter | undefined;
  #held: Uint8Array[] = [];
  #heldBytes = 0;

  private constructor(
    schema: Schema,
    path: string,
    file: string,
    statistics: StatisticsWriter | undefined,
  ) {
    this.#writer = new FileWriter(schema);
    this.#statistics = statistics;
    this.#target = StreamedFile.create(path);
    this.#path = path;
    this.#file = file;
  }

  /**
   * Begins a new data file in a table's folder.
   * @param gathers Whether something is to be known of the values; no for files that no version names.
   */
  static async create(folder: string, schema: Schema, gathers = true): Promise<FragmentWriter> {
    const file = newDataFile();
    const path = join(folder, file);
    const statistics = gathers ? new StatisticsWriter(schema) : undefined;
    const writer = new FragmentWriter(schema, path, file, statistics);
    await writer.#add([writer.#writer.begin()]);
    return writer;
  }

  /** Bytes written so far. */
  get bytes(): number {
    return this.#writer.bytes;
  }

  async write(batch: RecordBatch): Promise<void> {
    this.#statistics?.add(batch);
    await this.#add(this.#writer.batch(batch));
  }

  /** Ends the file. It is on stable storage when this returns, or, where flushes are given, when these are settled. */
  async finish(flushes?: Flushes): Promise<WrittenFile> {
    await this.#add([this.#writer.end()]);
    await this.#flush([]);
    await this.#target.end();
    const synced = this.#target.sync();
    if (flushes === undefined) await synced;
    else flushes.add(synced);
    const { rows, bytes } = this.#writer;
    return { file: this.#file, rows, bytes, statistics: this.#statistics?.finish() };
  }

  /** Gives the file up and removes it. */
  async abandon(): Promise<void> {
    await this.#target.abandon();
    await removeFile(this.#path);
  }

  async #add(pieces: readonly Uint8Array[]): Promise<void> {
    const bytes = pieces.reduce((sum, { byteLength }) => sum + byteLength, this.#heldBytes);
    if (bytes >= ENOUGH_BYTES) return this.#flush(pieces);
    // A copy, since a few rows may lie in the memory of many.
    this.#held.push(Buffer.concat(pieces));
    this.#heldBytes = bytes;
  }

  async #flush(last: readonly Uint8Array[]): Promise<void> {
    const pieces = [...this.#held, ...last];
    this.#held = [];
    this.#heldBytes = 0;
    await this.#target.write(pieces);
  }
}
