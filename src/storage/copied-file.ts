import { constants, fstatSync, lstatSync } from 'node:fs';
import { copyFile, link, open, rm, stat, type FileHandle } from 'node:fs/promises';
import { isRefusedLink, LinkedPath, requirePlainPath } from './plain-path.ts';
import type { Copied } from './storage.ts';

const READING = constants.O_RDONLY | constants.O_NOFOLLOW;

/** Codes of file systems without hard links. */
const UNLINKABLE = new Set(['EXDEV', 'EPERM', 'EMLINK', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);

/**
 * Gives a file of a table that never changes a second name, or copies it durably where the file
 * system cannot.
 * @throws LinkedPath when the file is a symbolic link or lies behind one, and the system's error.
 */
export async function linkOrCopy(from: string, to: string): Promise<Copied> {
  const source = await openOwn(from);
  try {
    if (await isLinked(source, from, to)) return { linked: true, bytes: 0 };
    return await copyDurable(reachable(source, from), to);
  } finally {
    await source.close();
  }
}

/** Copies a file of a table. After this its bytes are on stable storage. @throws as `linkOrCopy`. */
export async function copyOwn(from: string, to: string): Promise<Copied> {
  const source = await openOwn(from);
  try {
    return await copyDurable(reachable(source, from), to);
  } finally {
    await source.close();
  }
}

/**
 * Opens a file of a table for reading without following a symbolic link anywhere on its path.
 * @param path Absolute and normalised.
 * @throws LinkedPath where there is one, and the system's error.
 */
async function openOwn(path: string): Promise<FileHandle> {
  const handle = await open(path, READING).catch((error: unknown) => {
    throw isRefusedLink(error, path) ? new LinkedPath(path) : error;
  });
  try {
    requirePlainPath(handle.fd, path);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Gives an open file a second name where the file system can. */
async function isLinked(source: FileHandle, from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (!UNLINKABLE.has(code)) throw error;
    return false;
  }
  // The path may have been exchanged since it was checked.
  const [opened, named] = [fstatSync(source.fd), lstatSync(to)];
  if (opened.dev === named.dev && opened.ino === named.ino) return true;
  await rm(to, { force: true });
  throw new LinkedPath(from);
}

/** A path of an open file that cannot be exchanged, where the system has one. */
function reachable(source: FileHandle, path: string): string {
  return process.platform === 'linux' ? `/proc/self/fd/${source.fd}` : path;
}

/** Copies a file. After this its bytes are on stable storage, its name once the folder is synced. */
export async function copyDurable(from: string, to: string): Promise<Copied> {
  await copyFile(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  const file = await open(to, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
  return { linked: false, bytes: (await stat(to)).size };
}
