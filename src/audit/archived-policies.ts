import { randomUUID } from 'node:crypto';
import { basename, join, resolve } from 'node:path';
import { copiesOf, logStorage, POLICIES_FOLDER, realFolder } from './chain/log-files.ts';

/** Name of an incomplete folder, which is being written or was left by a crash. */
const UNFINISHED = /^\..*\.tmp$/;
/** Age after which an incomplete folder is removed, in ms. */
const STALE_MILLIS = 3_600_000;

interface PolicyFile {
  readonly name: string;
  readonly text: string;
}

/** Folder of the archived policy with a digest: beside the log, or else among the copies of other gateways' logs. */
export function archivedPolicy(audit: string, digest: string): string {
  const own = join(audit, POLICIES_FOLDER, digest);
  const copy = join(copiesOf(audit), POLICIES_FOLDER, digest);
  const isCopied =
    logStorage.stat(resolve(own)) === undefined && logStorage.stat(copy) !== undefined;
  return isCopied ? copy : own;
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
  await logStorage.folders.make(join(audit, POLICIES_FOLDER), 0o700);
  const all = await realFolder(join(audit, POLICIES_FOLDER));
  const folder = join(all, digest);
  if (logStorage.stat(folder) === undefined) await writeWhole(all, folder, files);
  await logStorage.flush(all);
}

/** Removes incomplete policies that crashes left. */
export async function sweepIncomplete(audit: string, now: number = Date.now()): Promise<void> {
  const all = await realFolder(join(audit, POLICIES_FOLDER));
  for await (const { path, writtenMillis } of logStorage.entries(all)) {
    if (!UNFINISHED.test(basename(path)) || now - writtenMillis <= STALE_MILLIS) continue;
    await logStorage.removeTree(path, { retained: [] });
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
    await logStorage.folders.make(temporary, 0o700);
    for (const { name, text } of files)
      await logStorage.replace(join(temporary, name), Buffer.from(text));
    await logStorage.folders.move(temporary, folder).catch((error: unknown) => {
      // Another process may have archived it meanwhile; a folder that is not empty is never replaced.
      if (logStorage.stat(folder) === undefined) throw error;
    });
  } finally {
    await logStorage.removeTree(temporary, { retained: [] });
  }
}
