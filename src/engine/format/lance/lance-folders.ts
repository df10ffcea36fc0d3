import { realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { LanceBase, LanceManifest } from './lance-manifest.ts';

/** The folders in which the files of a version lie. */
export interface LanceFolders {
  /** That of its table, or of its branch. */
  readonly own: string;
  /** Those of others, by the numbers that its manifest gives them. */
  readonly bases: ReadonlyMap<number, LanceBase>;
}

/**
 * The folders of a version with all links resolved: clients may call one by several names.
 * @param file Absolute path of its manifest.
 */
export async function lanceFolders(
  file: string,
  { bases }: Pick<LanceManifest, 'bases'>,
): Promise<LanceFolders> {
  const own = dirname(dirname(file));
  if (bases.size === 0) return { own: await resolved(own), bases };
  const others = [...bases].map(
    async ([id, base]) => [id, { ...base, path: await resolved(pathOf(base.path)) }] as const,
  );
  return { own: await resolved(own), bases: new Map(await Promise.all(others)) };
}

function pathOf(path: string): string {
  try {
    return path.startsWith('file:') ? fileURLToPath(path) : path;
  } catch {
    return path;
  }
}

/** A folder that is not there is called what it is called. */
async function resolved(path: string): Promise<string> {
  return realpath(path).catch(() => path);
}
