import { relative } from 'node:path';
import type { StoredFile } from '../../../arrow/sealed/file-seal.ts';
import { isMissing } from '../../../storage/storage-error.ts';
import { VersionReader } from '../../catalog/records/version-reader.ts';
import {
  everyVersion,
  storedFilesOf,
  type KnownVersion,
} from '../../catalog/records/version-walk.ts';
import type { RetentionParts } from '../retention/parts.ts';
import { fileOf } from './finding.ts';
import { ReadingRate, verifyBytes, verifyFile } from './portion-reading.ts';
import type { Subject } from './table-check.ts';

export interface DeepOptions {
  /** Most bytes that are read in a second, by all tables together; 0 for no limit. */
  readonly bytesPerSecond: number;
  /** Ends the check: its methods throw. */
  readonly signal?: AbortSignal;
  /** Called with the name of each step. */
  readonly progress?: ((doing: string) => void) | undefined;
}

/** Totals of a deep check. */
export interface DeepCounts {
  /** Files that were read from end to end. */
  readonly files: number;
  readonly bytes: number;
}

/** A file that cannot be read, or does not match its seal. */
export interface UnsoundFile {
  readonly kind: 'manifest' | 'file';
  /** Path in the table's folder. */
  readonly file: string;
  readonly error: unknown;
}

/** Reads every portion of the files that versions name, and compares them with their seals. */
export class DeepCheck {
  readonly #parts: Pick<RetentionParts, 'storage' | 'store' | 'folder'>;
  readonly #options: DeepOptions;
  readonly #rate: ReadingRate;
  readonly #reader: VersionReader;
  #files = 0;
  #bytes = 0;

  constructor(parts: Pick<RetentionParts, 'storage' | 'store' | 'folder'>, options: DeepOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#rate = new ReadingRate(options.bytesPerSecond);
    this.#reader = new VersionReader(parts.storage);
  }

  get counts(): DeepCounts {
    return { files: this.#files, bytes: this.#bytes };
  }

  get isStopped(): boolean {
    return this.#options.signal?.aborted === true;
  }

  /**
   * Reads all files of a table, each once. Versions that are removed meanwhile are left out.
   * @throws the reason of the signal.
   */
  async *unsound({ name, record }: Subject): AsyncGenerator<UnsoundFile> {
    this.#options.signal?.throwIfAborted();
    if (record.kind !== 'engine') return;
    const folder = this.#parts.folder(record);
    const done = new Set<string>();
    for await (const version of everyVersion(this.#parts.store, record.id)) {
      const read = await this.#attempt(version, () => this.#manifest(folder, version));
      if ('error' in read) {
        const file = fileOf(folder, read.error) ?? version.record.manifest;
        if (!done.has(file)) yield { kind: 'manifest', file, error: read.error };
        done.add(file);
      }
      for (const stored of read.result ?? []) {
        if (done.has(stored.path)) continue;
        this.#options.progress?.(`comparing files of ${name} (${this.#bytes} bytes so far)`);
        const compared = await this.#attempt(version, () => this.#file(stored));
        if ('error' in compared)
          yield { kind: 'file', file: relative(folder, stored.path), error: compared.error };
        // A file that is gone with its version may be missing in another one.
        if ('error' in compared || compared.result === true) done.add(stored.path);
      }
    }
  }

  async #manifest(folder: string, { record }: KnownVersion): Promise<readonly StoredFile[]> {
    const bytes = await this.#reader.bytes(folder, record);
    await verifyBytes(this.#parts.storage, bytes, await this.#reader.stored(folder, record));
    this.#add(bytes.byteLength);
    await this.#rate.after(bytes.byteLength, this.#options.signal);
    return storedFilesOf(folder, await this.#reader.decode(folder, bytes, record));
  }

  async #file(stored: StoredFile): Promise<true> {
    const { signal } = this.#options;
    const options = { rate: this.#rate, signal };
    this.#add(await verifyFile(this.#parts.storage, stored, options));
    return true;
  }

  #add(bytes: number): void {
    this.#files += 1;
    this.#bytes += bytes;
  }

  /** Does work on a file of a version. Nothing is returned if file and version are gone. */
  async #attempt<Result>(
    { key }: KnownVersion,
    work: () => Promise<Result>,
  ): Promise<Attempt<Result>> {
    try {
      return { result: await work() };
    } catch (error) {
      this.#options.signal?.throwIfAborted();
      const isGone = isMissing(error) && (await this.#parts.store.get(key)) === undefined;
      return isGone ? {} : { error };
    }
  }
}

type Attempt<Result> =
  | { readonly result?: Result }
  | { readonly error: unknown; readonly result?: undefined };
