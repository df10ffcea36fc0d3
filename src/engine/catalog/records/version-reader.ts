import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import type { StoredFile } from '../../../arrow/sealed/file-seal.ts';
import { readDetachedSeals, withDetachedSeals } from '../../format/detached-seals.ts';
import { readDetachedBlock } from '../../format/memory/detached-block.ts';
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

/** The names of a manifest, and its seal; absent for a manifest from before seals. */
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
    return this.decode(folder, await this.bytes(folder, record), record);
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

  /** The manifest of a version under its final name, with its seal. @throws DamagedFile */
  async stored(folder: string, { manifest, staging, seal }: NamedManifest): Promise<StoredFile> {
    if (seal !== undefined) return storedIn(folder, { path: manifest, seal });
    const seals = await readDetachedSeals(this.#storage, folder);
    return storedIn(folder, { path: manifest, seal: seals.get(manifest) ?? seals.get(staging) });
  }

  /**
   * Decodes the bytes of a manifest, and reads the lists that it names. Files from before seals get
   * their detached seals.
   * @param links Which symbolic links may be followed to lists.
   * @throws as `decodeManifest`.
   */
  async decode(
    folder: string,
    bytes: Uint8Array,
    record: NamedManifest,
    links?: Links,
  ): Promise<Manifest> {
    const stored = await this.stored(folder, record);
    const block = await readDetachedBlock(this.#storage, stored);
    const listOf = (list: NamedList) => this.#list(folder, list, links);
    const manifest = await decodeManifest(bytes, stored, listOf, block);
    const fragments = await withDetachedSeals(this.#storage, folder, manifest.fragments);
    return fragments === manifest.fragments ? manifest : { ...manifest, fragments };
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
