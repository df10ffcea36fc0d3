import { constants } from 'node:fs';
import { copyFile, link, open, stat } from 'node:fs/promises';

/** How a file came to its second place. */
export interface Copied {
  readonly linked: boolean;
  readonly bytes: number;
}

/** What a file system says that cannot give a file a second name. */
const UNLINKABLE = new Set(['EXDEV', 'EPERM', 'EMLINK', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);

/** Gives a file that never changes a second name, or copies it durably where the file system cannot. */
export async function linkOrCopy(from: string, to: string): Promise<Copied> {
  try {
    await link(from, to);
    return { linked: true, bytes: 0 };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (!UNLINKABLE.has(code)) throw error;
  }
  return copyDurable(from, to);
}

/** Copies a file. After this its bytes are on stable storage, its name once the folder is synced. */
export async function copyDurable(from: string, to: string): Promise<Copied> {
  await copyFile(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  const file = await open(to, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
  return { linked: false, bytes: (await stat(to)).size };
}
