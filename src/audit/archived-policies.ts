import { randomUUID } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { exists, makeFolder, syncFolder } from '../storage/folder.ts';
import { POLICIES_FOLDER } from './chain/log-folder.ts';

/** Name of an incomplete folder: it is being written, or a crash left it. */
const UNFINISHED = /^\..*\.tmp$/;
/** Age of an incomplete folder that no process still writes, in milliseconds. */
const STALE_MILLIS = 3_600_000;

/** A file of a policy. */
export interface PolicyFile {
  readonly name: string;
  readonly text: string;
}

/** The folder in which the policy of a digest is kept. */
export function archivedPolicy(audit: string, digest: string): string {
  return join(audit, POLICIES_FOLDER, digest);
}

/**
 * Keeps the texts of a policy beside the audit log, under the digest that its
 * records name, so that they can be explained later. Whole and on stable storage
 * when this resolves; one that is kept already stays as it is. Folders have
 * mode 0700, files 0600.
 * @param audit `<data>/private/audit`.
 * @throws the system's error; nothing is then under the digest.
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

/** Writes the files under a name of their own; only when all is on the disk the folder gets its name. */
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
      // Another process may have kept it meanwhile: a folder that is not empty is never replaced.
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
