import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder, syncFolder } from '../../storage/folder.ts';
import { removeIfEmpty, removeTree } from '../../storage/tree.ts';
import type { WrittenFile } from './fragment-writer.ts';
import { discard } from './ingest.ts';
import { DATA, VERSIONS } from './layout.ts';

/**
 * Creates the folder of a new table with its subfolders durably.
 * @param mode Of the folder and those around it that are missing; the umask decides when absent.
 */
export async function makeTableFolder(folder: string, mode?: number): Promise<void> {
  await makeFolder(folder, mode);
  await mkdir(join(folder, DATA), { recursive: true });
  await mkdir(join(folder, VERSIONS), { recursive: true });
  await syncFolder(folder);
}

/**
 * Removes the files of a table whose creation failed.
 * @param kept Folders of the gateway, in which nothing is removed.
 * @param chosen Whether the client chose the folder: another table may have been created there
 * meanwhile.
 */
export async function removeTableFolder(
  folder: string,
  chosen: boolean,
  files: readonly WrittenFile[],
  kept: readonly string[],
): Promise<void> {
  if (!chosen) return void (await removeTree(folder, { kept }));
  await discard(folder, files);
  for (const inner of [join(folder, DATA), join(folder, VERSIONS), folder]) {
    await removeIfEmpty(inner);
  }
}
