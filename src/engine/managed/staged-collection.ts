import { lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { LANCE_VERSIONS, namesIn } from '../lance/versions.ts';
import { parseVersionFile } from '../lance/version-file.ts';
import { isAbsent, LANCE_TREE, ownership } from './place.ts';

/**
 * Removes manifests that Lance clients staged and nobody committed: those of writers
 * that lost or died. Nothing else refers to them.
 * @param location The folder of a table that Lance clients write.
 * @param olderThanMillis Files that were written later stay: their commit may be on its way.
 * @param known The names inside the folder under which committed versions were
 * staged. One that a crash left unfinished is still needed.
 * @returns The names of what was removed.
 */
export async function collectStaged(
  location: string,
  olderThanMillis: number,
  known: ReadonlySet<string>,
): Promise<readonly string[]> {
  const removed: string[] = [];
  for await (const folder of versionFolders(location)) {
    for (const file of await namesIn(join(location, folder))) {
      const name = join(folder, file);
      const staged = parseVersionFile(file);
      if (staged === undefined || staged.staging === '' || known.has(name)) continue;
      if (await removeIfOld(join(location, name), olderThanMillis)) removed.push(name);
    }
  }
  return removed;
}

/** The folders of versions: that of the table, and those of its branches, whose names may have several parts. */
async function* versionFolders(location: string): AsyncGenerator<string> {
  if ((await ownership(location, LANCE_VERSIONS)) === 'own') yield LANCE_VERSIONS;
  yield* branchFolders(location, LANCE_TREE);
}

async function* branchFolders(location: string, folder: string): AsyncGenerator<string> {
  if ((await ownership(location, folder)) !== 'own') return;
  for (const entry of await readdir(join(location, folder), { withFileTypes: true })) {
    if (!entry.isDirectory()) continue;
    const inner = join(folder, entry.name);
    if (entry.name === LANCE_VERSIONS) yield inner;
    else if (!entry.name.startsWith('_') && entry.name !== 'data') {
      yield* branchFolders(location, inner);
    }
  }
}

/** A link is removed as such, whatever it leads to. */
async function removeIfOld(path: string, olderThanMillis: number): Promise<boolean> {
  try {
    const { mtimeMs } = await lstat(path);
    if (mtimeMs >= olderThanMillis) return false;
    await rm(path);
    return true;
  } catch (error) {
    if (isAbsent(error)) return false;
    throw error;
  }
}
