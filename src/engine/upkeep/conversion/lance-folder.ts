import { join } from 'node:path';
import type { RecordBatch, Schema } from 'apache-arrow';
import { FileWriter } from '../../../arrow/ipc/file-writer.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import type { ObjectPath } from '../../../protocol/identifier.ts';
import { Flushes } from '../../../storage/flushes.ts';
import type { Storage } from '../../../storage/storage.ts';
import type { Fields } from '../../base/fields.ts';
import { integerField, textField } from '../../base/fields.ts';
import { ownStatement } from '../../base/statement.ts';
import { MAIN } from '../../format/chain.ts';
import { versionNotFound } from '../../format/version-refusals.ts';
import { noRows } from '../../query/plan/answer.ts';
import {
  heldFile,
  type LanceLibrary,
  type LanceVersions,
} from '../../versions/managed/lance-library.ts';
import { stagedPlace, storeKey, type StagedPlace } from '../../versions/managed/place.ts';

/** Bytes of rows that are given to the library at once. */
const CHUNK_BYTES = 2 ** 25;

/** A folder that becomes a Lance table. No catalog knows it yet. */
interface NewFolder {
  readonly id: string;
  /** The name of the table, for errors. */
  readonly path: ObjectPath;
  /** Absolute path; it exists, and is empty. */
  readonly location: string;
}

/**
 * Writes rows into a folder as a Lance table, through the library, chunk by chunk. Each chunk is a
 * version; at the end only the manifest of the newest one is there, and everything is on stable
 * storage.
 * @returns The path of that manifest.
 * @throws CatalogError as the library refuses
 */
export async function writeLanceFolder(
  { storage, library }: { readonly storage: Storage; readonly library: LanceLibrary },
  folder: NewFolder,
  schema: Schema,
  batches: AsyncIterable<RecordBatch>,
  signal: AbortSignal,
): Promise<string> {
  const versions = new FolderVersions(storage, folder.location);
  const statement = { ...ownStatement(), signal: () => signal };
  for await (const rows of filesOf(schema, batches)) {
    const kind = versions.names.length === 0 ? 'create' : 'append';
    await library.change(
      { ...folder, branch: MAIN },
      { kind },
      heldFile(rows),
      versions,
      statement,
    );
  }
  const last = versions.names.at(-1) ?? '';
  for (const name of versions.names.slice(0, -1)) await storage.remove(join(folder.location, name));
  await flushTree(storage, folder.location);
  return join(folder.location, last);
}

/** Batches as Arrow files of about the size of a chunk; one at least. */
async function* filesOf(
  schema: Schema,
  batches: AsyncIterable<RecordBatch>,
): AsyncGenerator<Uint8Array> {
  let file = new ChunkFile(schema);
  let isFirst = true;
  for await (const batch of batches) {
    file.add(batch);
    if (file.bytes < CHUNK_BYTES) continue;
    yield file.end();
    file = new ChunkFile(schema);
    isFirst = false;
  }
  if (isFirst || file.rows > 0) yield file.end();
}

class ChunkFile {
  readonly #schema: Schema;
  readonly #writer: FileWriter;
  readonly #pieces: Uint8Array[];

  constructor(schema: Schema) {
    this.#schema = schema;
    this.#writer = new FileWriter(schema);
    this.#pieces = [this.#writer.begin()];
  }

  get bytes(): number {
    return this.#writer.bytes;
  }

  get rows(): number {
    return this.#writer.rows;
  }

  /** Pieces are copied: batches may lie in memory that is used again. */
  add(batch: RecordBatch): void {
    this.#pieces.push(...this.#writer.batch(batch).map((piece) => Uint8Array.from(piece)));
  }

  end(): Uint8Array {
    // The library takes no file without a batch.
    if (this.#pieces.length === 1) this.add(noRows(this.#schema));
    return Buffer.concat([...this.#pieces, this.#writer.end()]);
  }
}

/** The versions of a folder that only its writer knows: each staged manifest gets its final name at once. */
class FolderVersions implements LanceVersions {
  /** At the end the folder has one version alone. */
  readonly isRewritten = true;
  readonly #storage: Storage;
  readonly #location: string;
  /** Paths of the manifests in the folder, by version: the first one is version 1. */
  readonly names: string[] = [];

  constructor(storage: Storage, location: string) {
    this.#storage = storage;
    this.#location = location;
  }

  async newest(): Promise<object | undefined> {
    return this.names.length === 0 ? undefined : this.#entry(this.names.length);
  }

  async at(_: string, version: unknown): Promise<object> {
    const number = Number(version);
    if (this.names[number - 1] !== undefined) return this.#entry(number);
    throw versionNotFound(BigInt(number));
  }

  async create(branch: string, body: Readonly<Record<string, unknown>>): Promise<object> {
    const { staging, manifest } = this.#placeOf(branch, body as Fields);
    const names = [staging, manifest].map((name) => join(this.#location, name)) as [string, string];
    if ((await this.#storage.renameIfAbsent(...names)) === 'exists') {
      throw new CatalogError('Internal', `${manifest} exists in a folder that is being written`);
    }
    this.names.push(manifest);
    return this.#entry(this.names.length);
  }

  #placeOf(branch: string, fields: Fields): StagedPlace {
    const version = integerField(fields, 'version') ?? 0n;
    if (branch !== MAIN || version !== BigInt(this.names.length + 1)) {
      throw new CatalogError('Internal', `version ${version} is not the next one of the folder`);
    }
    const manifestPath = textField(fields, 'manifest_path') ?? '';
    const namingScheme = textField(fields, 'naming_scheme');
    return stagedPlace(this.#location, { branch, version, manifestPath, namingScheme });
  }

  #entry(version: number): object {
    const name = this.names[version - 1] ?? '';
    const manifest_path = storeKey(this.#location, name);
    return { version, manifest_path, timestamp_millis: Date.now() };
  }
}

/** Puts everything below a folder on stable storage, with all names. */
async function flushTree(storage: Storage, folder: string): Promise<void> {
  const flushes = new Flushes();
  for await (const { path, isFolder } of storage.tree(folder)) {
    flushes.add(isFolder ? storage.flush(path) : flushFile(storage, path));
  }
  flushes.add(storage.flush(folder));
  await flushes.settled();
}

async function flushFile(storage: Storage, path: string): Promise<void> {
  const file = await storage.open(path, 'folders');
  try {
    await file.sync();
  } finally {
    file.close();
  }
}
