import { access, constants, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { UsageError } from '../output/service-error.ts';

/**
 * Refuses a place where no folder can be made or written: checks the folder, or the nearest
 * one above it that is there. Makes nothing.
 * @throws UsageError
 */
export async function requireWritable(folder: string): Promise<void> {
  const stats = await stat(folder).catch((error: NodeJS.ErrnoException) => error);
  if (stats instanceof Error) {
    if (stats.code !== 'ENOENT') throw new UsageError(`${folder} cannot be used (${stats.code})`);
    return requireWritable(dirname(folder));
  }
  if (!stats.isDirectory()) throw new UsageError(`${folder} is a file, but must be a folder`);
  await access(folder, constants.W_OK | constants.X_OK).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`${folder} cannot be written by this user (${error.code})`);
  });
}
