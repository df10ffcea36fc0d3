import { open, rm, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { RecordBatch, Schema } from 'apache-arrow';
import { FileWriter } from '../../arrow/file-writer.ts';
import { newDataFile } from './layout.ts';
import { StatisticsWriter } from './statistics-writer.ts';

/** A data file that is complete and on stable storage; its name is not yet, until the folder is synced. */
export interface WrittenFile {
  /** Path inside the table's folder. */
  readonly file: string;
  readonly rows: number;
  readonly bytes: number;
  /** What is known of the values, as `FileStatistics` reads it. */
  readonly statistics?: Uint8Array | undefined;
}

/** How many pieces one system call takes: below IOV_MAX of every platform. */
const PIECES = 512;
/** So many bytes are worth a system call. */
const ENOUGH_BYTES = 2 ** 18;

/**
 * Writes one data file batch by batch; each batch is with the operating system
 * before the next is taken, save that copies of small ones wait for each other.
 */
export class FragmentWriter {
  readonly #writer: FileWriter;
  readonly #handle: FileHandle;
  readonly #path: string;
  readonly #file: string;
  readonly #statistics: StatisticsWriter | undefined;
  #held: Uint8Array[] = [];
  #heldBytes = 0;

  private constructor(
    schema: Schema,
    handle: FileHandle,
    path: string,
    file: string,
    statistics: StatisticsWriter | undefined,
  ) {
    this.#writer = new FileWriter(schema);
    this.#statistics = statistics;
    this.#handle = handle;
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
    const handle = await open(path, 'wx');
    const statistics = gathers ? new StatisticsWriter(schema) : undefined;
    const writer = new FragmentWriter(schema, handle, path, file, statistics);
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

  /** Ends the file and syncs it. */
  async finish(): Promise<WrittenFile> {
    await this.#add([this.#writer.end()]);
    await this.#flush([]);
    await this.#handle.sync();
    await this.#handle.close();
    const { rows, bytes } = this.#writer;
    return { file: this.#file, rows, bytes, statistics: this.#statistics?.finish() };
  }

  /** Gives the file up and removes it. */
  async abandon(): Promise<void> {
    await this.#handle.close().catch(() => undefined);
    await rm(this.#path, { force: true });
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
    for (let start = 0; start < pieces.length; start += PIECES) {
      await writeAll(this.#handle, pieces.slice(start, start + PIECES));
    }
  }
}

/** A short write is no error to the operating system, so what is left over is written again. */
async function writeAll(handle: FileHandle, pieces: readonly Uint8Array[]): Promise<void> {
  let rest = pieces.filter((piece) => piece.byteLength > 0);
  while (rest.length > 0) {
    const { bytesWritten } = await handle.writev(rest);
    rest = without(rest, bytesWritten);
  }
}

function without(pieces: readonly Uint8Array[], bytes: number): Uint8Array[] {
  let skipped = 0;
  const rest: Uint8Array[] = [];
  for (const piece of pieces) {
    const cut = Math.min(piece.byteLength, Math.max(0, bytes - skipped));
    skipped += piece.byteLength;
    if (cut < piece.byteLength) rest.push(piece.subarray(cut));
  }
  return rest;
}
