import { readdir, readlink } from 'node:fs/promises';

/** Files of a folder that this process has open though they have no name. */
export async function unnamedFiles(folder: string): Promise<readonly string[]> {
  const names = await readdir('/proc/self/fd');
  const targets = await Promise.all(
    names.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => '')),
  );
  return targets.filter((target) => target.startsWith(folder) && target.endsWith('(deleted)'));
}
