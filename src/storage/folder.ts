import { chmod, mkdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { FileDescriptor } from './file-descriptor.ts';

/** After this the names in a folder are on stable storage: what was made, linked, renamed or removed in it. */
export async function syncFolder(path: string): Promise<void> {
  const folder = FileDescriptor.open(path, 'r');
  try {
    await folder.sync();
  } finally {
    folder.close();
  }
}

/**
 * Makes a folder and those above it, where they are missing. After this the
 * folder's own name and those of the folders that were made are on stable storage.
 * @param mode Of each folder that is made, whatever the umask; the umask decides when absent.
 */
export async function makeFolder(path: string, mode?: number): Promise<void> {
  const folder = resolve(path);
  for (const missing of await missingFolders(folder)) {
    const made = await mkdir(missing, { mode: mode ?? 0o777, recursive: true });
    if (made !== undefined && mode !== undefined) await chmod(missing, mode);
    await syncFolder(dirname(missing));
  }
  // It may have been made a moment ago by someone who has not come to this yet.
  await syncFolder(dirname(folder));
}

/** The folders of a path that are not there, outermost first. */
async function missingFolders(path: string): Promise<readonly string[]> {
  const missing: string[] = [];
  for (let folder = path; !(await pathExists(folder)); folder = dirname(folder))
    missing.unshift(folder);
  return missing;
}

/** Whether there is anything of a name. */
export async function pathExists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false;
    throw error;
  }
}
