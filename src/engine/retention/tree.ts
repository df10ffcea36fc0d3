import { lstat, opendir, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Something in a folder. */
export interface TreeEntry {
  readonly path: string;
  readonly isFolder: boolean;
  /** 0 for a folder. */
  readonly bytes: number;
  /** When it was written last, in milliseconds. */
  readonly writtenMillis: number;
}

/** How much was removed, or would be. */
export interface Freed {
  readonly files: number;
  readonly bytes: number;
}

export const NOTHING: Freed = { files: 0, bytes: 0 };

export function plus(left: Freed, right: Freed): Freed {
  return { files: left.files + right.files, bytes: left.bytes + right.bytes };
}

/** Everything below a folder, what is inside a folder before the folder. Links are not followed; nothing where there is no folder. */
export async function* treeOf(folder: string): AsyncGenerator<TreeEntry> {
  for await (const entry of entriesOf(folder)) {
    if (entry.isFolder) yield* treeOf(entry.path);
    yield entry;
  }
}

/** What lies directly in a folder; nothing where there is none. */
export async function* entriesOf(folder: string): AsyncGenerator<TreeEntry> {
  const opened = await unlessMissing(opendir(folder));
  if (opened === undefined) return;
  for await (const { name } of opened) {
    const path = join(folder, name);
    const stats = await unlessMissing(lstat(path));
    if (stats === undefined) continue;
    const isFolder = stats.isDirectory();
    yield { path, isFolder, bytes: isFolder ? 0 : stats.size, writtenMillis: stats.mtimeMs };
  }
}

/** Removes a folder with everything in it; one that is not there is as good as removed. */
export async function removeTree(folder: string, dryRun = false): Promise<Freed> {
  let freed = NOTHING;
  for await (const entry of treeOf(folder)) {
    if (entry.isFolder) {
      if (!dryRun) await unlessMissing(rmdir(entry.path));
      continue;
    }
    if (!dryRun) await rm(entry.path, { force: true });
    freed = plus(freed, { files: 1, bytes: entry.bytes });
  }
  if (!dryRun) await unlessMissing(rmdir(folder));
  return freed;
}

/** Removes a file; one that is not there counts for nothing. */
export async function removeFile(path: string, dryRun = false): Promise<Freed> {
  const stats = await unlessMissing(lstat(path));
  if (stats === undefined) return NOTHING;
  if (!dryRun) await rm(path, { force: true });
  return { files: 1, bytes: stats.size };
}

/** What was asked for; undefined when the file or folder is not there. */
export async function unlessMissing<Found>(asking: Promise<Found>): Promise<Found | undefined> {
  try {
    return await asking;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
