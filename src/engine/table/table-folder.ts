import { mkdir, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder, syncFolder } from '../disk.ts';
import type { WrittenFile } from './fragment-writer.ts';
import { discard } from './ingest.ts';
import { DATA, VERSIONS } from './layout.ts';

/** Makes the folder of a new table. After this it, and those inside it, are on stable storage. */
export async function makeTableFolder(folder: string): Promise<void> {
  await makeFolder(folder);
  await mkdir(join(folder, DATA), { recursive: true });
  await mkdir(join(folder, VERSIONS), { recursive: true });
  await syncFolder(folder);
}

/**
 * Removes what was written for a table that did not come to be.
 * @param chosen Whether its creator chose the folder: another table may have come to be there meanwhile.
 */
export async function removeTableFolder(
  folder: string,
  chosen: boolean,
  files: readonly WrittenFile[],
): Promise<void> {
  if (!chosen) return rm(folder, { recursive: true, force: true });
  await discard(folder, files);
  for (const inner of [join(folder, DATA), join(folder, VERSIONS), folder]) {
    await rmdir(inner).catch(() => undefined);
  }
}
