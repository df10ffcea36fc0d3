import { basename, dirname, join } from 'node:path';
import type { Storage } from '../../../storage/storage.ts';
import { LANCE_VERSIONS, namesInFolder } from '../../format/lance/versions.ts';
import { parseVersionFile } from '../../format/lance/version-file.ts';
import { LANCE_TREE } from './place.ts';

/** Ends the name of a file that the library was still writing, as those of a killed process. */
const PART = /#\d+$/;

/** A manifest that a Lance client has staged. */
interface StagedFile {
  /** Path in the table's folder. */
  readonly file: string;
  readonly bytes: number;
  /** When a client wrote it, in milliseconds. */
  readonly writtenMillis: number;
  /** When it got its name or last lost one: the service gives a second name to what is being committed. */
  readonly changedMillis: number;
}

/**
 * All files under names of staged manifests: of commits in progress, of ones that a crash
 * left unfinished, and of writers that lost or died.
 * @param location The folder of a table that Lance clients write.
 */
export async function* stagedFiles(storage: Storage, location: string): AsyncGenerator<StagedFile> {
  for await (const folder of versionFolders(storage, location)) {
    for (const name of await namesInFolder(storage, join(location, folder))) {
      if ((parseVersionFile(name.replace(PART, ''))?.staging ?? '') === '') continue;
      const file = join(folder, name);
      const stat = await storage.stat(join(location, file));
      if (stat === undefined || stat.isFolder) continue;
      const { bytes, writtenMillis, changedMillis } = stat;
      yield { file, bytes, writtenMillis, changedMillis };
    }
  }
}

/**
 * Removes a staged manifest; a link as such, whatever it leads to.
 * @returns Whether it was there.
 */
export async function removeStaged(
  storage: Storage,
  location: string,
  file: string,
): Promise<boolean> {
  if ((await storage.ownership(location, dirname(file))) !== 'own') return false;
  return (await storage.remove(join(location, file))).files > 0;
}

/** The folders of versions: that of the table, and those of its branches, whose names may have several parts. */
export async function* versionFolders(storage: Storage, location: string): AsyncGenerator<string> {
  if ((await storage.ownership(location, LANCE_VERSIONS)) === 'own') yield LANCE_VERSIONS;
  yield* branchFolders(storage, location, LANCE_TREE);
}

async function* branchFolders(
  storage: Storage,
  location: string,
  folder: string,
): AsyncGenerator<string> {
  if ((await storage.ownership(location, folder)) !== 'own') return;
  for await (const { path, isFolder } of storage.entries(join(location, folder))) {
    if (!isFolder) continue;
    const name = basename(path);
    const inner = join(folder, name);
    if (name === LANCE_VERSIONS) yield inner;
    else if (!name.startsWith('_') && name !== 'data') {
      yield* branchFolders(storage, location, inner);
    }
  }
}
