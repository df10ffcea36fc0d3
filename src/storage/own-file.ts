import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { isRefusedLink, LinkedPath, requirePlainPath } from './plain-path.ts';

const READING = constants.O_RDONLY | constants.O_NOFOLLOW;

/**
 * Opens a file of a table for reading without following a symbolic link anywhere on its path.
 * @param path Absolute and normalised.
 * @throws LinkedPath where there is one, and the system's error.
 */
export async function openOwn(path: string): Promise<FileHandle> {
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

/** The bytes of a file of a table. @throws as `openOwn`. */
export async function readOwn(path: string): Promise<Buffer> {
  const handle = await openOwn(path);
  try {
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}
