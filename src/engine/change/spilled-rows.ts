import type { StoredFile } from '../../arrow/sealed/file-seal.ts';
import type { RecordBatch, Schema } from 'apache-arrow';
import { storedIn, type TableFolder } from '../format/snapshot.ts';
import { FragmentWriter } from '../format/fragment-writer.ts';
import { batchBytes } from '../format/small-batches.ts';
import type { Holding } from '../format/memory/request-memory.ts';
import { OpenFiles } from '../format/memory/open-files.ts';
import { itemAt } from '../base/items.ts';

/** Memory limit before batches are written to a file, in bytes. */
const IN_MEMORY = 32 * 2 ** 20;

/**
 * Temporary storage of batches: in memory, or in a file of the table's folder if they are large.
 */
export class SpilledRows {
  readonly #table: TableFolder;
  readonly #schema: Schema;
  readonly #inMemory: number;
  readonly #files: OpenFiles;
  readonly #memory: Holding;
  #held: RecordBatch[] = [];
  /** Bytes charged for batches in memory. */
  #charged = 0;
  #bytes = 0;
  #count = 0;
  #writer: FragmentWriter | undefined;
  #stored: StoredFile | undefined;

  /**
   * @param memory Charged for batches in memory.
   * @param memory Charged for batches while they are held in memory.
   */
  constructor(table: TableFolder, schema: Schema, memory: Holding, inMemory = IN_MEMORY) {
    this.#memory = memory;
    this.#table = table;
    this.#files = new OpenFiles(table.storage);
    this.#schema = schema;
    this.#inMemory = inMemory;
  }

  /** Adds a batch with exactly the schema. */
  async add(batch: RecordBatch): Promise<void> {
    this.#count++;
    const bytes = batchBytes(batch);
    this.#bytes += bytes;
    if (this.#writer === undefined && this.#bytes <= this.#inMemory) {
      this.#memory.charge(bytes);
      this.#charged += bytes;
      this.#held.push(batch);
      return;
    }
    this.#writer ??= await this.#spill();
    await this.#writer.write(batch);
  }

  /** Ends the writing. Call it after the last batch. */
  async finish(): Promise<void> {
    if (this.#writer === undefined) return;
    const { file, seal } = await this.#writer.finish();
    this.#writer = undefined;
    this.#stored = storedIn(this.#table.folder, { path: file, seal });
  }

  /** The batches in the order in which they were added. */
  async *batches(): AsyncGenerator<RecordBatch> {
    for (let index = 0; index < this.#count; index++) {
      const stored = this.#stored;
      yield stored === undefined
        ? itemAt(this.#held, index)
        : await this.#files.use(stored, ({ file }) => file.readBatch(index));
    }
  }

  /** Releases memory and files in any state. */
  async close(): Promise<void> {
    await this.#writer?.abandon();
    await this.#files.close();
    if (this.#stored !== undefined) await this.#table.storage.remove(this.#stored.path);
  }

  async #spill(): Promise<FragmentWriter> {
    const writer = await FragmentWriter.create(this.#table, this.#schema, false);
    this.#writer = writer;
    for (const batch of this.#held) await writer.write(batch);
    this.#held = [];
    this.#memory.release(this.#charged);
    this.#charged = 0;
    return writer;
  }
}
