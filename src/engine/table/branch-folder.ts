import { join } from 'node:path';
import { makeFolder } from '../disk.ts';
import { removeIfEmpty } from '../files/tree.ts';
import { branchFolder, VERSIONS } from './layout.ts';

/** Makes the folder of a branch's manifests, durably. */
export async function makeBranchFolder(tableFolder: string, id: string): Promise<void> {
  await makeFolder(join(tableFolder, branchFolder(id), VERSIONS));
}

/** Removes the folder of a branch, unless something is in it that may still be needed. */
export async function removeBranchFolder(tableFolder: string, id: string): Promise<void> {
  const folder = join(tableFolder, branchFolder(id));
  for (const empty of [join(folder, VERSIONS), folder]) {
    await removeIfEmpty(empty);
  }
}
