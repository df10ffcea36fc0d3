import { readdir, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';

/** A file under a folder: its path there, and its size in bytes. */
export interface FoundFile {
  readonly path: string;
  readonly bytes: number;
}

/** Every file under a folder, by path; none when there is no such folder. */
export async function filesUnder(folder: string): Promise<readonly FoundFile[]> {
  const entries = await entriesOf(folder);
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  const found = await Promise.all(paths.map((path) => foundFile(folder, path)));
  return found.flat().sort((left, right) => (left.path < right.path ? -1 : 1));
}

/** Bytes of all files under a folder. */
export async function bytesUnder(folder: string): Promise<number> {
  return (await filesUnder(folder)).reduce((sum, file) => sum + file.bytes, 0);
}

async function entriesOf(folder: string) {
  try {
    return await readdir(folder, { recursive: true, withFileTypes: true });
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/** A file may go away while it is looked at. */
async function foundFile(folder: string, path: string): Promise<FoundFile[]> {
  try {
    return [{ path: relative(folder, path), bytes: (await stat(path)).size }];
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
