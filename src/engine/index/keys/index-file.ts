import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { RecordBatch, Schema } from 'apache-arrow';
import { FileWriter } from '../../../arrow/ipc/file-writer.ts';
import { StreamedFile } from '../../../storage/streamed-file.ts';
import { syncFolder } from '../../../storage/folder.ts';
import { removeFile } from '../../../storage/tree.ts';
import { INDICES, newIndexFile } from '../../format/layout.ts';
import type { FragmentIndex, IndexDefinition } from '../../format/snapshot.ts';

/** A file of an index, of any kind, while it is written: an Arrow file in the folder of the index. */
export class IndexFile {
  readonly #writer: FileWriter;
  readonly #target: StreamedFile;
  readonly #folder: string;
  readonly #path: string;

  private constructor(folder: string, path: string, schema: Schema) {
    this.#writer = new FileWriter(schema);
    this.#target = StreamedFile.create(join(folder, path));
    this.#folder = folder;
    this.#path = path;
  }

  /** Begins a new file in a table's folder. */
  static async create(folder: string, index: string, schema: Schema): Promise<IndexFile> {
    const path = newIndexFile(index);
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    const file = new IndexFile(folder, path, schema);
    await file.#target.write([file.#writer.begin()]);
    return file;
  }

  async batch(batch: RecordBatch): Promise<void> {
    await this.#target.write([Buffer.concat(this.#writer.batch(batch))]);
  }

  /** Ends the file. It and its name are on stable storage when this returns. */
  async finish({ uuid, field }: IndexDefinition): Promise<FragmentIndex> {
    await this.#target.write([this.#writer.end()]);
    await this.#target.end();
    await Promise.all([
      this.#target.sync(),
      syncFolder(join(this.#folder, INDICES, uuid)),
      // The folders may have been made a moment ago, by this or by somebody else.
      syncFolder(join(this.#folder, INDICES)),
      syncFolder(this.#folder),
    ]);
    return { index: uuid, field, path: this.#path, bytes: this.#writer.bytes };
  }

  /** Gives the file up and removes it. */
  async abandon(): Promise<void> {
    await this.#target.abandon();
    await removeFile(join(this.#folder, this.#path));
  }
}
