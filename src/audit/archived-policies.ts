import { randomUUID } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { exists, makeFolder, syncFolder } from '../storage/folder.ts';
import { POLICIES_FOLDER } from './chain/log-folder.ts';

/** Name of an incomplete folder, which is being written or was left by a crash. */
const UNFINISHED = /^\..*\.tmp$/;
/** Age after which an incomplete folder is removed, in ms. */
const STALE_MILLIS = 3_600_000;

/** A file of a policy. */
export interface PolicyFile {
  readonly name: string;
  readonly text: string;
}

/** Folder of the archived policy with a digest. */
export function archivedPolicy(audit: string, digest: string): string {
  return join(audit, POLICIES_FOLDER, digest);
}

/**
 * Archives the files of a policy beside the audit log, under the digest that records
 * name, so that decisions can be explained later. Complete and durable when this
 * resolves; an existing archive stays as it is. Folders have mode 0700, files 0600.
 * @param audit `<data>/private/audit`.
 * @throws the system's error; then there is no archive of the digest.
 */
export async function archivePolicy(
  audit: string,
  digest: string,
  files: readonly PolicyFile[],
): Promise<void> {
  const all = join(audit, POLICIES_FOLDER);
  await makeFolder(all, 0o700);
  const folder = archivedPolicy(audit, digest);
  if (!(await exists(folder))) await writeWhole(all, folder, files);
  await syncFolder(all);
}

/** Removes incomplete policies that crashes left. */
export async function sweepIncomplete(audit: string, now: number = Date.now()): Promise<void> {
  const all = join(audit, POLICIES_FOLDER);
  for (const name of await readdir(all).catch((): string[] => [])) {
    if (!UNFINISHED.test(name)) continue;
    const path = join(all, name);
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: now }));
    if (now - mtimeMs > STALE_MILLIS) await rm(path, { recursive: true, force: true });
  }
}

/** Writes the files into a temporary folder, which is renamed when all of it is durable. */
async function writeWhole(
  all: string,
  folder: string,
  files: readonly PolicyFile[],
): Promise<void> {
  const temporary = join(all, `.${randomUUID()}.tmp`);
  try {
    await mkdir(temporary, { mode: 0o700 });
    for (const { name, text } of files) await writeFile(join(temporary, name), text);
    await syncFolder(temporary);
    await rename(temporary, folder).catch(async (error: unknown) => {
      // Another process may have archived it meanwhile; a folder that is not empty is never replaced.
      if (!(await exists(folder))) throw error;
    });
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

async function writeFile(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}
