import { join } from 'node:path';
import type { RecordBatch, Schema } from 'apache-arrow';
import type { ArrowFile } from '../../arrow/ipc/file-reader.ts';
import { openSealed } from '../../arrow/sealed/sealed-file.ts';
import { SealingWriter } from '../../arrow/sealed/sealing-writer.ts';
import type { TemporaryObject } from '../../storage/storage.ts';
import { fileAccess } from './memory/random-access.ts';
import { newDataFile } from './layout.ts';
import type { TableFolder } from './snapshot.ts';

/**
 * Batches that are too large for memory, in a file without a name: neither an error nor a crash leaves it
 * behind. Its bytes are compared with checksums when they are read.
 */
export class SpillFile {
  readonly #object: TemporaryObject;
  readonly #writer: SealingWriter;
  readonly #path: string;
  #count = 0;
  #file: ArrowFile | undefined;
  #writing: Promise<void>;

  private constructor({ storage, folder }: TableFolder, schema: Schema) {
    this.#path = join(folder, newDataFile());
    this.#writer = new SealingWriter(schema);
    this.#object = storage.temporary(this.#path);
    this.#writing = this.#write([this.#writer.begin()]);
  }

  /** Makes a file beside the data files of a table. Close it in any case. */
  static create(table: TableFolder, schema: Schema): SpillFile {
    return new SpillFile(table, schema);
  }

  /** Number of batches. */
  get count(): number {
    return this.#count;
  }

  /** Bytes written so far. */
  get bytes(): number {
    return this.#writer.bytes;
  }

  /**
   * Adds a batch with exactly the schema. It is written while the next one is made: its memory must not
   * change before the next call.
   */
  async add(batch: RecordBatch): Promise<void> {
    const pieces = this.#writer.batch(batch);
    this.#count++;
    await this.#writing;
    this.#writing = this.#write(pieces);
  }

  /** Ends the writing. */
  async finish(): Promise<void> {
    await this.#writing;
    const { bytes, seal } = this.#writer.end();
    await this.#object.write([bytes]);
    const object = await this.#object.written();
    const access = fileAccess({ object, size: object.size(), path: this.#path });
    this.#file = (await openSealed(access, { path: this.#path, seal })).file;
  }

  /** Reads a batch after `finish`. @throws DamagedFile */
  async batch(index: number): Promise<RecordBatch> {
    if (this.#file === undefined) throw new Error('the file is still being written');
    return this.#file.readBatch(index);
  }

  /** Frees the disk, in any state. Call it when no batch is being read. */
  async close(): Promise<void> {
    await this.#writing.catch(() => undefined);
    await this.#object.close();
  }

  #write(pieces: readonly Uint8Array[]): Promise<void> {
    const written = this.#object.write(pieces);
    // The next call reports the error.
    written.catch(() => undefined);
    return written;
  }
}
