import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncFolder } from './folder.ts';

/** Adds text to the end of a file, which is made where it is missing (mode 0600). On stable storage when this resolves. */
export async function appendFileDurable(path: string, text: string): Promise<void> {
  const file = await open(path, 'a', 0o600);
  try {
    const isNew = (await file.stat()).size === 0;
    await file.appendFile(text);
    await file.datasync();
    if (isNew) await syncFolder(dirname(path));
  } finally {
    await file.close();
  }
}
