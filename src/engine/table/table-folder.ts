import { mkdir, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { TableRecord } from '../catalog/records.ts';
import { makeFolder, syncFolder } from '../disk.ts';
import type { WrittenFile } from './fragment-writer.ts';
import { discard } from './ingest.ts';
import { DATA, VERSIONS } from './layout.ts';

/** Makes the folder of a new table durably, with those inside it that a first version needs. */
export async function makeTableFolder(folder: string): Promise<void> {
  await makeFolder(folder);
  await mkdir(join(folder, DATA), { recursive: true });
  await mkdir(join(folder, VERSIONS), { recursive: true });
  await syncFolder(folder);
}

/**
 * Removes what was written for a table that did not come to be. In a folder
 * that its creator chose, another table may have come to be meanwhile.
 */
export async function abandonTableFolder(
  folder: string,
  { location }: Pick<TableRecord, 'location'>,
  files: readonly Pick<WrittenFile, 'file'>[],
): Promise<void> {
  if (location === null) return rm(folder, { recursive: true, force: true });
  await discard(folder, files);
  for (const inner of [join(folder, DATA), join(folder, VERSIONS), folder]) {
    await rmdir(inner).catch(() => undefined);
  }
}
