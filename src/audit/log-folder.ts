import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

const FILE = /^\d{8}\.jsonl$/;

/** A file of an instance's log. */
export interface LogFile {
  readonly name: string;
  readonly path: string;
}

/** The instances of an audit folder, in the order of their starts. None when the folder is not there. */
export async function instancesOf(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(absent);
  return entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
}

/** The files of an instance, in the order in which they were written. */
export async function filesOf(folder: string, instance: string): Promise<readonly LogFile[]> {
  const names = (await readdir(join(folder, instance)).catch(absent)).filter((name) =>
    FILE.test(name),
  );
  return names.sort().map((name) => ({ name, path: join(folder, instance, name) }));
}

function absent(error: unknown): never[] {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
  throw error;
}
