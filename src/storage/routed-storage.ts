import { isObjectKey, wireLocation } from './object-key.ts';
import { StorageError, StorageRefused } from './storage-error.ts';
import { checkedKey } from './storage-key.ts';
import type {
  Copied,
  CreateOptions,
  Files,
  Folders,
  Freed,
  Links,
  NewObject,
  OpenObject,
  Ownership,
  Placed,
  RemoveOptions,
  Storage,
  StorageEntry,
  TemporaryObject,
  Uploads,
} from './storage.ts';

/** A storage that holds the keys below one key. */
export interface StorageMount {
  /** Key of an object store, as `objectRoot` makes it. No mount lies in another one. */
  readonly root: string;
  readonly storage: Storage;
}

/**
 * Objects on a disk and in object stores: the key of an object says where it is. Nothing is moved or copied from one
 * to another.
 * Every method throws StorageRefused for a key of an object store that is not there.
 */
export class RoutedStorage implements Storage {
  readonly folders: Folders;
  readonly files: Files;
  readonly uploads: Uploads;
  readonly #disk: Storage;
  readonly #mounts: readonly StorageMount[];

  constructor(disk: Storage, mounts: readonly StorageMount[]) {
    this.#disk = disk;
    this.#mounts = mounts;
    this.folders = foldersOf((key) => this.#at(key).folders);
    this.files = {
      pathOf: (key) => {
        const { files } = this.#at(key);
        if (files !== undefined) return files.pathOf(key);
        throw new StorageError('EINVAL', `${wireLocation(key)} is not a file of this machine`);
      },
    };
    this.uploads = {
      abandon: async (isOld, dryRun) => {
        let count = 0;
        for (const { storage } of mounts)
          count += (await storage.uploads?.abandon(isOld, dryRun)) ?? 0;
        return count;
      },
    };
  }

  open(key: string, links?: Links): OpenObject | Promise<OpenObject> {
    return this.#at(key).open(key, links);
  }

  async read(key: string, links?: Links): Promise<Buffer> {
    return this.#at(key).read(key, links);
  }

  stat(key: string): ReturnType<Storage['stat']> {
    return this.#at(key).stat(key);
  }

  stamp(key: string): ReturnType<Storage['stamp']> {
    return this.#at(key).stamp(key);
  }

  async ownership(folder: string, name: string): Promise<Ownership> {
    return this.#at(folder).ownership(folder, name);
  }

  async resolve(key: string): Promise<string> {
    return this.#at(key).resolve(key);
  }

  async names(folder: string): Promise<readonly string[] | undefined> {
    return this.#at(folder).names(folder);
  }

  entries(folder: string): AsyncIterable<StorageEntry> {
    return this.#at(folder).entries(folder);
  }

  tree(folder: string): AsyncIterable<StorageEntry> {
    return this.#at(folder).tree(folder);
  }

  create(key: string, options?: CreateOptions): NewObject {
    return this.#at(key).create(key, options);
  }

  temporary(key: string): TemporaryObject {
    return this.#at(key).temporary(key);
  }

  async freeBytes(folder: string): Promise<number> {
    return this.#at(folder).freeBytes(folder);
  }

  async write(key: string, bytes: Uint8Array, links?: Links): Promise<void> {
    return this.#at(key).write(key, bytes, links);
  }

  async putIfAbsent(key: string, bytes: Uint8Array, mode?: number): Promise<Placed> {
    return this.#at(key).putIfAbsent(key, bytes, mode);
  }

  async replace(key: string, bytes: Uint8Array): Promise<void> {
    return this.#at(key).replace(key, bytes);
  }

  async note(key: string, bytes: Uint8Array): Promise<void> {
    return this.#at(key).note(key, bytes);
  }

  async linkIfAbsent(from: string, to: string): Promise<Placed> {
    return this.#ofBoth(from, to).linkIfAbsent(from, to);
  }

  renameIfAbsent(from: string, to: string): Placed | Promise<Placed> {
    return this.#ofBoth(from, to).renameIfAbsent(from, to);
  }

  rename(from: string, to: string): void | Promise<void> {
    return this.#ofBoth(from, to).rename(from, to);
  }

  async copy(from: string, to: string, shared: boolean): Promise<Copied> {
    return this.#ofBoth(from, to).copy(from, to, shared);
  }

  async remove(key: string, dryRun?: boolean): Promise<Freed> {
    return this.#at(key).remove(key, dryRun);
  }

  discard(key: string): void | Promise<void> {
    return this.#at(key).discard(key);
  }

  async removeTree(folder: string, options: RemoveOptions): Promise<Freed> {
    return this.#at(folder).removeTree(folder, options);
  }

  async flush(folder: string): Promise<void> {
    return this.#at(folder).flush(folder);
  }

  #at(key: string): Storage {
    if (!isObjectKey(key)) return this.#disk;
    const mount = this.#mounts.find(({ root }) => key === root || key.startsWith(`${root}/`));
    if (mount !== undefined) return mount.storage;
    throw new StorageRefused(
      `no object store of the configuration holds ${wireLocation(key)}: add it to object_stores`,
    );
  }

  #ofBoth(from: string, to: string): Storage {
    const storage = this.#at(from);
    if (this.#at(to) === storage) return storage;
    checkedKey(from);
    checkedKey(to);
    throw new StorageError(
      'EXDEV',
      `${wireLocation(from)} and ${wireLocation(to)} do not lie in the same storage`,
    );
  }
}

/** Folders where the storage of a key has them; an object needs none. */
function foldersOf(at: (key: string) => Folders | undefined): Folders {
  return {
    make: async (folder, mode) => at(folder)?.make(folder, mode),
    makeNow: (folder) => at(folder)?.makeNow(folder),
    prepare: (folder) => at(folder)?.prepare(folder),
    removeIfEmpty: async (folder) => at(folder)?.removeIfEmpty(folder),
    move: async (from, to) => {
      const folders = at(from);
      if (folders !== undefined && folders === at(to)) return folders.move(from, to);
      throw new StorageError(
        'EXDEV',
        `the folder ${wireLocation(from)} cannot be moved to ${wireLocation(to)}`,
      );
    },
  };
}
