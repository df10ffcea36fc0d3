import type { RecordBatch, Schema } from 'apache-arrow';
import type { TableFolder } from '../format/snapshot.ts';
import { SpillFile } from '../format/spill-file.ts';
import { batchBytes } from '../format/small-batches.ts';
import type { Holding } from '../format/memory/request-memory.ts';
import { itemAt } from '../base/items.ts';

/** Memory limit before batches are written to a file, in bytes. */
const IN_MEMORY = 32 * 2 ** 20;

/** Temporary storage of batches: in memory, or in a file if they are large. */
export class SpilledRows {
  readonly #table: TableFolder;
  readonly #schema: Schema;
  readonly #inMemory: number;
  readonly #memory: Holding;
  #held: RecordBatch[] = [];
  /** Bytes charged for batches in memory. */
  #charged = 0;
  #bytes = 0;
  #count = 0;
  #file: SpillFile | undefined;

  /** @param memory Charged for batches while they are held in memory. */
  constructor(table: TableFolder, schema: Schema, memory: Holding, inMemory = IN_MEMORY) {
    this.#memory = memory;
    this.#table = table;
    this.#schema = schema;
    this.#inMemory = inMemory;
  }

  /** Adds a batch with exactly the schema. */
  async add(batch: RecordBatch): Promise<void> {
    this.#count++;
    const bytes = batchBytes(batch);
    this.#bytes += bytes;
    if (this.#file === undefined && this.#bytes <= this.#inMemory) {
      this.#memory.charge(bytes);
      this.#charged += bytes;
      this.#held.push(batch);
      return;
    }
    this.#file ??= await this.#spill();
    await this.#file.add(batch);
  }

  /** Ends the writing. Call it after the last batch. */
  async finish(): Promise<void> {
    await this.#file?.finish();
  }

  /** The batches in the order in which they were added. */
  async *batches(): AsyncGenerator<RecordBatch> {
    for (let index = 0; index < this.#count; index++) {
      yield this.#file === undefined ? itemAt(this.#held, index) : await this.#file.batch(index);
    }
  }

  /** Releases memory and the file in any state. */
  async close(): Promise<void> {
    await this.#file?.close();
  }

  async #spill(): Promise<SpillFile> {
    const file = SpillFile.create(this.#table, this.#schema);
    this.#file = file;
    for (const batch of this.#held) await file.add(batch);
    this.#held = [];
    this.#memory.release(this.#charged);
    this.#charged = 0;
    return file;
  }
}
