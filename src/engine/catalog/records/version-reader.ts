import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import type { StoredFile } from '../../../arrow/sealed/file-seal.ts';
import { unlessMissing } from '../../../storage/storage-error.ts';
import type { Links, Storage } from '../../../storage/storage.ts';
import {
  decodeList,
  decodeManifest,
  type Manifest,
  type NamedList,
} from '../../format/manifest.ts';
import type { VersionRecord } from '../../format/records.ts';
import { storedIn, type FragmentList } from '../../format/snapshot.ts';
import { filesOf } from './version-walk.ts';

/** The names of a manifest, and its seal. */
export type NamedManifest = Pick<VersionRecord, 'manifest' | 'staging' | 'seal'>;

/** Lists of fragments in memory, by their keys in the storage. */
export interface ListMemory {
  get(key: string): FragmentList | undefined;
  set(key: string, list: FragmentList): void;
}

/** Lists that a reader keeps, in bytes of their files. */
const LISTS_BYTES = 2 ** 23;

/** Reads versions from the disk. Lists that several versions share are read once while they fit. */
export class VersionReader {
  readonly #storage: Storage;
  readonly #lists: ListMemory;

  constructor(storage: Storage, lists: ListMemory = recentLists()) {
    this.#storage = storage;
    this.#lists = lists;
  }

  /** Files that a version names beside its manifest, as paths in the table's folder. */
  async named(folder: string, record: NamedManifest): Promise<readonly string[]> {
    return filesOf(await this.version(folder, record));
  }

  /**
   * The manifest of a version: under its final name, or the one that it had before.
   * @throws DamagedFile, and what `decodeManifest` throws.
   */
  async version(folder: string, record: NamedManifest): Promise<Manifest> {
    const bytes = await this.bytes(folder, record);
    return this.decode(folder, bytes, { path: record.manifest, seal: record.seal });
  }

  /** The bytes of the same manifest. @throws an error that `isMissing` if there is none. */
  async bytes(folder: string, { manifest, staging }: NamedManifest): Promise<Buffer> {
    const [final, staged] = [join(folder, manifest), join(folder, staging)];
    return (
      (await unlessMissing(this.#storage.read(final))) ??
      (await unlessMissing(this.#storage.read(staged))) ??
      // It may have got its final name in between.
      (await this.#storage.read(final))
    );
  }

  /**
   * Decodes the bytes of a manifest, and reads the lists that it names.
   * @param manifest Its path in the table's folder, and its seal.
   * @param links Which symbolic links may be followed to lists.
   * @throws as `decodeManifest`.
   */
  decode(
    folder: string,
    bytes: Uint8Array,
    manifest: StoredFile,
    links?: Links,
  ): Promise<Manifest> {
    const stored = storedIn(folder, manifest);
    return decodeManifest(bytes, stored, (list) => this.#list(folder, list, links));
  }

  async #list(folder: string, named: NamedList, links?: Links): Promise<FragmentList> {
    const stored = storedIn(folder, named);
    const known = this.#lists.get(stored.path);
    if (known?.seal === named.seal) return known;
    const list = await decodeList(await this.#storage.read(stored.path, links), stored, named);
    this.#lists.set(stored.path, list);
    return list;
  }
}

function recentLists(): ListMemory {
  return new LRUCache<string, FragmentList>({
    maxSize: LISTS_BYTES,
    sizeCalculation: ({ bytes }) => Math.max(1, bytes),
  });
}
