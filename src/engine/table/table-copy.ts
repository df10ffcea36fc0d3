import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { syncFolder } from '../disk.ts';
import { copyOwn, linkOrCopy } from '../recovery/copied-file.ts';
import { filesOf } from '../retention/version-walk.ts';
import type { Snapshot } from './snapshot.ts';
import { makeTableFolder } from './table-folder.ts';

/**
 * Makes the folder of a new table with the files that a version of another names. After
 * this they, and their names, are on stable storage.
 * @param shared Whether the files get second names, where the file system can, and no bytes are copied.
 */
export async function copyTableFiles(
  from: Pick<Snapshot, 'folder' | 'fragments'>,
  folder: string,
  shared: boolean,
): Promise<void> {
  await makeTableFolder(folder);
  const files = filesOf(from);
  const folders = foldersOf(files);
  for (const inner of folders) await mkdir(join(folder, inner), { recursive: true });
  const copy = shared ? linkOrCopy : copyOwn;
  for (const file of files) await copy(join(from.folder, file), join(folder, file));
  for (const inner of folders) await syncFolder(join(folder, inner));
  await syncFolder(folder);
}

/** The folders of some files, and those around them: inner ones first. */
function foldersOf(files: readonly string[]): readonly string[] {
  const folders = new Set<string>();
  for (const file of files) {
    for (let inner = dirname(file); inner !== '.'; inner = dirname(inner)) folders.add(inner);
  }
  return [...folders].toSorted((one, other) => other.length - one.length);
}
