import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { diskFiles, type ClientFiles } from '../../test/support/client-files.ts';
import { manifestName, messageOf } from '../../test/support/lance-table.ts';
import { rowsFrom } from '../data/rows.ts';
import { peer } from '../harness/lancedb-peer.ts';

const ROWS = 10;
/** Where the manifest is, the format, and the mark. */
const FOOTER_BYTES = 16;
/** The field of a manifest that holds its version. */
const VERSION_FIELD = 3;

/** A small table as LanceDB has written it, and manifests of further versions of it. */
export class LanceModel {
  readonly #folder: string;
  readonly #manifest: Buffer;

  private constructor(folder: string, manifest: Buffer) {
    this.#folder = folder;
    this.#manifest = manifest;
  }

  static async make(): Promise<LanceModel> {
    const folder = await mkdtemp(join(tmpdir(), 'arrowgate-model-'));
    const connection = await peer.lancedb.connect(folder);
    await connection.createTable('model', rowsFrom(0, ROWS));
    connection.close();
    const versions = join(folder, 'model.lance', '_versions');
    const names = (await readdir(versions)).filter((name) => name.endsWith('.manifest'));
    return new LanceModel(folder, await readFile(join(versions, names[0]!)));
  }

  /** Puts the rows of the table into another folder; it gets no version. */
  async copyTo(location: string, files: ClientFiles = diskFiles): Promise<void> {
    const from = join(this.#folder, 'model.lance', 'data');
    for (const name of await readdir(from)) {
      const bytes = await readFile(join(from, name));
      await files.write(join(files.keyOf(location), 'data', name), bytes);
    }
  }

  /** Writes the manifest of a version under a staging name, as Lance clients do. Answers its key. */
  async stage(location: string, version: number, files: ClientFiles = diskFiles): Promise<string> {
    const name = `${manifestName(BigInt(version))}-${randomUUID()}`;
    const key = join(files.keyOf(location), '_versions', name);
    await files.write(key, this.manifest(version));
    return key;
  }

  /** The file of a version's manifest: of a field that stands twice in a message the last one counts. */
  manifest(version: number): Buffer {
    const file = this.#manifest;
    const end = file.length - FOOTER_BYTES;
    const start = Number(file.readBigUInt64LE(end));
    if (start + 4 + file.readUInt32LE(start) !== end) {
      throw new Error('LanceDB wrote a manifest that does not end at its footer');
    }
    const message = Buffer.concat([
      file.subarray(start + 4, end),
      messageOf([VERSION_FIELD, version]),
    ]);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(message.length);
    return Buffer.concat([file.subarray(0, start), length, message, file.subarray(end)]);
  }

  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true });
  }
}
