import { dirname, join } from 'node:path';
import type { RecordBatch, Schema } from 'apache-arrow';
import { SealingWriter } from '../../../arrow/sealed/sealing-writer.ts';
import type { NewObject, Storage } from '../../../storage/storage.ts';
import { INDICES, newIndexFile } from '../../format/layout.ts';
import type { FragmentIndex, IndexDefinition, TableFolder } from '../../format/snapshot.ts';

/** Writes one index file of any kind: an Arrow file in the folder of the index. */
export class IndexFile {
  readonly #writer: SealingWriter;
  readonly #storage: Storage;
  readonly #target: NewObject;
  readonly #folder: string;
  readonly #path: string;

  private constructor({ storage, folder }: TableFolder, path: string, schema: Schema) {
    this.#writer = new SealingWriter(schema);
    this.#storage = storage;
    this.#target = storage.create(join(folder, path));
    this.#folder = folder;
    this.#path = path;
  }

  /** Creates a file in a table's folder. */
  static async create(table: TableFolder, index: string, schema: Schema): Promise<IndexFile> {
    const path = newIndexFile(index);
    table.storage.folders?.makeNow(dirname(join(table.folder, path)));
    const file = new IndexFile(table, path, schema);
    await file.#target.write([file.#writer.begin()]);
    return file;
  }

  async batch(batch: RecordBatch): Promise<void> {
    await this.#target.write([Buffer.concat(this.#writer.batch(batch))]);
  }

  /** Finishes the file. The file and its name are durable when this returns. */
  async finish({ uuid, field }: IndexDefinition): Promise<FragmentIndex> {
    const { bytes: end, seal } = this.#writer.end();
    await this.#target.write([end]);
    await this.#target.end();
    await Promise.all([
      this.#target.sync(),
      this.#storage.flush(join(this.#folder, INDICES, uuid)),
      // Another writer may have just created the folders.
      this.#storage.flush(join(this.#folder, INDICES)),
      this.#storage.flush(this.#folder),
    ]);
    return { index: uuid, field, path: this.#path, bytes: this.#writer.bytes, seal };
  }

  /** Abandons and removes the file. */
  async abandon(): Promise<void> {
    await this.#target.abandon();
    await this.#storage.remove(join(this.#folder, this.#path));
  }
}
