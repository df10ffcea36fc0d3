import { stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { identityOf, OpenedFolder, type FolderIdentity } from './opened-folder.ts';
import { unlessMissing } from './storage-error.ts';
import { NOTHING, plus, type Freed, type RemoveOptions, type StorageEntry } from './storage.ts';

/**
 * Everything below a folder, the content of a folder before the folder itself. Links are entries
 * and are not followed; nothing where there is no folder.
 * @throws LinkedPath when the folder is a link or lies behind one.
 */
export async function* treeOf(folder: string): AsyncGenerator<StorageEntry> {
  for await (const entry of entriesOf(folder)) {
    if (entry.isFolder) yield* treeOf(entry.path);
    yield entry;
  }
}

/** The entries of a folder; nothing where there is none. @throws LinkedPath as `treeOf`. */
export async function* entriesOf(folder: string): AsyncGenerator<StorageEntry> {
  const opened = OpenedFolder.open(folder);
  if (opened === undefined) return;
  try {
    for await (const name of opened.names()) {
      const stats = await opened.stats(name);
      if (stats === undefined) continue;
      const isFolder = stats.isDirectory();
      const bytes = isFolder ? 0 : stats.size;
      const isLink = stats.isSymbolicLink();
      yield { path: join(folder, name), isFolder, isLink, bytes, writtenMillis: stats.mtimeMs };
    }
  } finally {
    opened.close();
  }
}

/** A removal would have reached a folder that the gateway keeps. */
export class KeptFolder extends Error {
  constructor(path: string) {
    super(`${path} is a folder that the gateway needs for itself: nothing of it is removed`);
    this.name = 'KeptFolder';
  }
}

/**
 * Removes a folder with everything in it; links are removed as such. A folder that is missing
 * counts for nothing.
 * @param folder Absolute path. Where it is itself a link, only the link goes.
 * @throws LinkedPath when it lies behind a link, KeptFolder before one of the kept folders is touched.
 */
export async function removeTree(folder: string, options: RemoveOptions): Promise<Freed> {
  const parent = OpenedFolder.open(dirname(folder));
  if (parent === undefined) return NOTHING;
  try {
    const removal = new Removal(await identitiesOf(options.retained), options.dryRun === true);
    return await removal.entry(parent, basename(folder));
  } finally {
    parent.close();
  }
}

/**
 * Removes a file, or a link as such; one that is missing counts for nothing.
 * @throws LinkedPath when its folder is a link or lies behind one.
 */
export async function removeFile(path: string, dryRun = false): Promise<Freed> {
  const parent = OpenedFolder.open(dirname(path));
  if (parent === undefined) return NOTHING;
  try {
    const name = basename(path);
    const stats = await parent.stats(name);
    if (stats === undefined) return NOTHING;
    if (!dryRun) await parent.removeFile(name);
    return { files: 1, bytes: stats.size };
  } finally {
    parent.close();
  }
}

/** Removes a folder if it is empty and no link leads to it. Does not throw. */
export async function removeIfEmpty(folder: string): Promise<void> {
  try {
    const parent = OpenedFolder.open(dirname(folder));
    await parent?.removeFolder(basename(folder)).finally(() => parent.close());
  } catch {
    // Something is in it, or it is no folder of ours.
  }
}

async function identitiesOf(folders: readonly string[]): Promise<ReadonlySet<FolderIdentity>> {
  const found = folders.map((folder) => unlessMissing(stat(folder, { bigint: true })));
  const stats = await Promise.all(found);
  return new Set(stats.flatMap((one) => (one === undefined ? [] : [identityOf(one)])));
}

class Removal {
  readonly #retained: ReadonlySet<FolderIdentity>;
  readonly #dryRun: boolean;

  constructor(retained: ReadonlySet<FolderIdentity>, dryRun: boolean) {
    this.#retained = retained;
    this.#dryRun = dryRun;
  }

  async entry(parent: OpenedFolder, name: string): Promise<Freed> {
    const stats = await parent.stats(name);
    if (stats === undefined) return NOTHING;
    if (stats.isDirectory()) return this.#folder(parent, name);
    if (!this.#dryRun) await parent.removeFile(name);
    return { files: 1, bytes: stats.size };
  }

  async #folder(parent: OpenedFolder, name: string): Promise<Freed> {
    const folder = parent.inner(name);
    if (folder === undefined) return NOTHING;
    let freed = NOTHING;
    try {
      if (this.#retained.has(folder.identity())) throw new KeptFolder(folder.path);
      for await (const inner of folder.names())
        freed = plus(freed, await this.entry(folder, inner));
    } finally {
      folder.close();
    }
    if (!this.#dryRun) await parent.removeFolder(name);
    return freed;
  }
}
