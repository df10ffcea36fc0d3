import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';

/**
 * What is in a data folder beside the store's and the catalog's own files, which are written at any
 * time. Links are listed and not followed: one of them may lead back to the folder itself.
 */
export async function ownFiles(data: string): Promise<readonly string[]> {
  const entries = await readdir(data, { recursive: true, withFileTypes: true });
  const names = entries.map(({ parentPath, name }) => relative(data, join(parentPath, name)));
  return names.filter((name) => !/^(store|catalog)(\/|$)/.test(name)).toSorted();
}
