import { lstatSync, renameSync, statSync } from 'node:fs';
import { readdir, readFile, realpath, rename, statfs, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { copyOwn, linkOrCopy } from './copied-file.ts';
import {
  createDurable,
  linkDurable,
  removeIfPresent,
  renameIfAbsent,
  writeDurable,
} from './durable-file.ts';
import { FileDescriptor } from './file-descriptor.ts';
import { syncFolder } from './folder.ts';
import { LocalFolders } from './local-folders.ts';
import { readWhole } from './open-object.ts';
import { requireOwnFolder } from './opened-folder.ts';
import { replaceText } from './replaced-file.ts';
import { errorCode, isAbsent, isMissing } from './storage-error.ts';
import { checkedFolder, checkedKey } from './storage-key.ts';
import type {
  Copied,
  CreateOptions,
  Files,
  Folders,
  Freed,
  Links,
  NewObject,
  ObjectStat,
  OpenObject,
  Ownership,
  Placed,
  RemoveOptions,
  Storage,
  StorageEntry,
  TemporaryObject,
} from './storage.ts';
import { StreamedFile } from './streamed-file.ts';
import { entriesOf, removeFile, removeTree, treeOf } from './tree.ts';

/** Codes of a file system that makes no second names, or none of files of another user. */
const NO_LINKS: ReadonlySet<string> = new Set(['EPERM', 'EACCES', 'ENOTSUP', 'EMLINK', 'ENOSYS']);

/** Mode of a file that only its process reads. */
const OWN_MODE = 0o600;

/** Rights of a file's mode. */
const MODE_BITS = 0o777;

/**
 * Files of a local disk. A key is an absolute path, so a location that a record holds is a key as
 * it stands, and no operation builds another text.
 */
export class LocalStorage implements Storage {
  readonly folders: Folders = new LocalFolders();
  readonly files: Files = { pathOf: checkedKey };

  open(key: string, links: Links = 'none'): OpenObject {
    checkedKey(key);
    if (links === 'none') return FileDescriptor.openPlain(key, 'r');
    return links === 'folders' ? FileDescriptor.openEntry(key) : FileDescriptor.open(key, 'r');
  }

  async read(key: string, links: Links = 'none'): Promise<Buffer> {
    if (links === 'all') return readFile(checkedKey(key));
    return readWhole(this.open(key, links));
  }

  stat(key: string): ObjectStat | undefined {
    const stats = unlessAbsent(() => lstatSync(checkedKey(key), { throwIfNoEntry: false }));
    if (stats === undefined) return undefined;
    return {
      isFile: stats.isFile(),
      isFolder: stats.isDirectory(),
      isLink: stats.isSymbolicLink(),
      bytes: stats.size,
      writtenMillis: stats.mtimeMs,
      changedMillis: stats.ctimeMs,
    };
  }

  stamp(key: string): string | undefined {
    const how = { bigint: true, throwIfNoEntry: false } as const;
    const stats = unlessAbsent(() => lstatSync(checkedKey(key), how));
    if (stats === undefined) return undefined;
    const { dev, ino, size, mtimeNs, ctimeNs } = stats;
    return [dev, ino, size, mtimeNs, ctimeNs].join(' ');
  }

  async ownership(folder: string, name: string): Promise<Ownership> {
    try {
      const plain = plainOwnership(folder, name);
      if (plain !== undefined) return plain;
      const path = join(folder, name);
      const [own, found] = await Promise.all([realpath(folder), realpath(path)]);
      return found === join(own, name) ? 'own' : 'linked';
    } catch (error) {
      if (isAbsent(error)) return 'absent';
      throw error;
    }
  }

  async resolve(key: string): Promise<string> {
    return realpath(checkedFolder(key));
  }

  async names(folder: string): Promise<readonly string[] | undefined> {
    try {
      return await readdir(checkedFolder(folder));
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  entries(folder: string): AsyncIterable<StorageEntry> {
    return entriesOf(checkedFolder(folder));
  }

  tree(folder: string): AsyncIterable<StorageEntry> {
    return treeOf(checkedFolder(folder));
  }

  create(key: string, options: CreateOptions = {}): NewObject {
    return StreamedFile.create(checkedKey(key), options);
  }

  temporary(key: string): TemporaryObject {
    const file = FileDescriptor.openPlain(checkedKey(key), 'wx+', OWN_MODE);
    try {
      removeIfPresent(key);
    } catch (error) {
      file.close();
      throw error;
    }
    return {
      write: (pieces) => file.write(pieces),
      written: async () => file,
      close: async () => file.closeApart(),
    };
  }

  async freeBytes(folder: string): Promise<number> {
    const { bavail, bsize } = await statfs(checkedFolder(folder));
    return bavail * bsize;
  }

  async write(key: string, bytes: Uint8Array, links: Links = 'none'): Promise<void> {
    checkedKey(key);
    if (links === 'none') requireOwnFolder(dirname(key));
    await writeDurable(key, bytes);
  }

  async putIfAbsent(key: string, bytes: Uint8Array, mode?: number): Promise<Placed> {
    return createDurable(checkedKey(key), bytes, mode);
  }

  async replace(key: string, bytes: Uint8Array): Promise<void> {
    await replaceText(checkedKey(key), bytes);
  }

  async note(key: string, bytes: Uint8Array): Promise<void> {
    await writeFile(`${checkedKey(key)}.new`, bytes);
    await rename(`${key}.new`, key);
  }

  async linkIfAbsent(from: string, to: string): Promise<Placed> {
    try {
      return await linkDurable(checkedKey(from), checkedKey(to));
    } catch (error) {
      if (!NO_LINKS.has(errorCode(error) ?? '')) throw error;
      // The copy is readable by those who can read the original.
      const { mode } = statSync(from);
      return createDurable(to, await this.read(from, 'folders'), mode & MODE_BITS);
    }
  }

  renameIfAbsent(from: string, to: string): Placed {
    return renameIfAbsent(checkedKey(from), checkedKey(to));
  }

  rename(from: string, to: string): void {
    renameSync(checkedKey(from), checkedKey(to));
  }

  copy(from: string, to: string, shared: boolean): Promise<Copied> {
    return (shared ? linkOrCopy : copyOwn)(checkedKey(from), checkedKey(to));
  }

  remove(key: string, dryRun = false): Promise<Freed> {
    return removeFile(checkedKey(key), dryRun);
  }

  discard(key: string): void {
    removeIfPresent(checkedKey(key));
  }

  removeTree(folder: string, options: RemoveOptions): Promise<Freed> {
    return removeTree(checkedKey(folder), options);
  }

  async flush(folder: string): Promise<void> {
    return syncFolder(checkedFolder(folder));
  }
}

/** Result of a lookup; undefined if the key cannot exist. */
function unlessAbsent<Found>(look: () => Found): Found | undefined {
  try {
    return look();
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

/** Ownership where no link is on the way, as nearly always; undefined where one is. */
function plainOwnership(folder: string, name: string): Ownership | undefined {
  // The folder itself may have been replaced, too.
  if (lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink() === true) return 'linked';
  let path = folder;
  for (const segment of name.split('/')) {
    if (segment === '' || segment === '.' || segment === '..') return undefined;
    path = `${path}/${segment}`;
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return 'absent';
    if (stats.isSymbolicLink()) return undefined;
  }
  return 'own';
}
