import { lstat, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { removeFile } from '../../../storage/tree.ts';
import { LANCE_VERSIONS, namesIn } from '../../format/lance/versions.ts';
import { parseVersionFile } from '../../format/lance/version-file.ts';
import { isAbsent, LANCE_TREE, ownership } from './place.ts';

/** A manifest that a Lance client has staged. */
export interface StagedFile {
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
export async function* stagedFiles(location: string): AsyncGenerator<StagedFile> {
  for await (const folder of versionFolders(location)) {
    for (const name of await namesIn(join(location, folder))) {
      if ((parseVersionFile(name)?.staging ?? '') === '') continue;
      const file = join(folder, name);
      const stats = await unlessAbsent(lstat(join(location, file)));
      if (stats === undefined || stats.isDirectory()) continue;
      const { size: bytes, mtimeMs: writtenMillis, ctimeMs: changedMillis } = stats;
      yield { file, bytes, writtenMillis, changedMillis };
    }
  }
}

/**
 * Removes a staged manifest; a link as such, whatever it leads to.
 * @returns Whether it was there.
 */
export async function removeStaged(location: string, file: string): Promise<boolean> {
  if ((await ownership(location, dirname(file))) !== 'own') return false;
  return (await removeFile(join(location, file))).files > 0;
}

/** The folders of versions: that of the table, and those of its branches, whose names may have several parts. */
async function* versionFolders(location: string): AsyncGenerator<string> {
  if ((await ownership(location, LANCE_VERSIONS)) === 'own') yield LANCE_VERSIONS;
  yield* branchFolders(location, LANCE_TREE);
}

async function* branchFolders(location: string, folder: string): AsyncGenerator<string> {
  if ((await ownership(location, folder)) !== 'own') return;
  const entries = await unlessAbsent(readdir(join(location, folder), { withFileTypes: true }));
  for (const entry of entries ?? []) {
    if (!entry.isDirectory()) continue;
    const inner = join(folder, entry.name);
    if (entry.name === LANCE_VERSIONS) yield inner;
    else if (!entry.name.startsWith('_') && entry.name !== 'data') {
      yield* branchFolders(location, inner);
    }
  }
}

/** What was asked for; undefined when it is not there, or no longer. */
async function unlessAbsent<Found>(asking: Promise<Found>): Promise<Found | undefined> {
  try {
    return await asking;
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}
