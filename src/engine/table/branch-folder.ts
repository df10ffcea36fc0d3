import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../disk.ts';
import { branchFolder, VERSIONS } from './layout.ts';

/** Makes the folder of a branch's manifests, durably. */
export async function makeBranchFolder(tableFolder: string, id: string): Promise<void> {
  await makeFolder(join(tableFolder, branchFolder(id), VERSIONS));
}

/** Removes the folder of a branch, with whatever is in it. */
export async function removeBranchFolder(tableFolder: string, id: string): Promise<void> {
  await rm(join(tableFolder, branchFolder(id)), { recursive: true, force: true });
}
