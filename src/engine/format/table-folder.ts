import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder, syncFolder } from '../../storage/folder.ts';
import { removeIfEmpty, removeTree } from '../../storage/tree.ts';
import type { WrittenFile } from './fragment-writer.ts';
import { discard } from './ingest.ts';
import { DATA, VERSIONS } from './layout.ts';

/**
 * Makes the folder of a new table. After this it, and those inside it, are on stable storage.
 * @param mode Of the folder and those around it that are missing; the umask decides when absent.
 */
export async function makeTableFolder(folder: string, mode?: number): Promise<void> {
  await makeFolder(folder, mode);
  await mkdir(join(folder, DATA), { recursive: true });
  await mkdir(join(folder, VERSIONS), { recursive: true });
  await syncFolder(folder);
}

/**
 * Removes what was written for a table that did not come to be.
 * @param kept Folders of the gateway itself, of which nothing is removed.
 * @param chosen Whether its creator chose the folder: another table may have come to be there meanwhile.
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
