import { join } from 'node:path';
import type { WrittenFile } from './fragment-writer.ts';
import { discard } from './ingest.ts';
import { DATA, FRAGMENTS, VERSIONS } from './layout.ts';
import type { TableFolder } from './snapshot.ts';

/**
 * Creates the folder of a new table with its subfolders durably.
 * @param mode Of the folder and those around it that are missing; the umask decides when absent.
 */
export async function makeTableFolder(
  { storage, folder }: TableFolder,
  mode?: number,
): Promise<void> {
  await storage.folders?.make(folder, mode);
  storage.folders?.makeNow(join(folder, DATA));
  storage.folders?.makeNow(join(folder, VERSIONS));
  await storage.flush(folder);
}

/**
 * Removes the files of a table whose creation failed.
 * @param retained Folders of the gateway, in which nothing is removed.
 * @param chosen Whether the client chose the folder: another table may have been created there
 * meanwhile.
 */
export async function removeTableFolder(
  table: TableFolder,
  chosen: boolean,
  files: readonly WrittenFile[],
  retained: readonly string[],
): Promise<void> {
  const { storage, folder } = table;
  if (!chosen) return void (await storage.removeTree(folder, { retained }));
  await discard(table, files);
  for (const inner of [DATA, VERSIONS, FRAGMENTS]) {
    await storage.folders?.removeIfEmpty(join(folder, inner));
  }
  await storage.folders?.removeIfEmpty(folder);
}
