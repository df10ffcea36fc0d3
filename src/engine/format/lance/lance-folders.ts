import type { Storage } from '../../../storage/storage.ts';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { keyOfUri } from '../../../storage/object-key.ts';
import type { LanceBase, LanceManifest } from './lance-manifest.ts';

/** Folders of a version's files. */
export interface LanceFolders {
  /** Folder of its table or branch. */
  readonly own: string;
  /** Folders of other tables or branches by their ids in the manifest. */
  readonly bases: ReadonlyMap<number, LanceBase>;
}

/**
 * Resolves the folders of a version, including symbolic links: clients may use several names for
 * one.
 * @param file Absolute path of its manifest.
 */
export async function lanceFolders(
  storage: Storage,
  file: string,
  { bases }: Pick<LanceManifest, 'bases'>,
): Promise<LanceFolders> {
  const own = dirname(dirname(file));
  if (bases.size === 0) return { own: await resolved(storage, own), bases };
  const others = [...bases].map(
    async ([id, base]) =>
      [id, { ...base, path: await resolved(storage, pathOf(base.path)) }] as const,
  );
  return { own: await resolved(storage, own), bases: new Map(await Promise.all(others)) };
}

function pathOf(path: string): string {
  try {
    return keyOfUri(path) ?? (path.startsWith('file:') ? fileURLToPath(path) : path);
  } catch {
    return path;
  }
}

/** A missing folder keeps its name. */
async function resolved(storage: Storage, path: string): Promise<string> {
  return storage.resolve(resolve(path)).catch(() => path);
}
