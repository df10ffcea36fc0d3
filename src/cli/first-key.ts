import { replaceFile, updateKeys } from '../gateway/key-file.ts';
import { makeKey } from '../gateway/keys.ts';
import type { DataFolder } from './data-folder.ts';

/**
 * Makes the first administrator key: its text goes into a file of mode 0600,
 * its hash to the keys. Gives the text; undefined when there is a key, since
 * another process that starts at the same time has made it.
 */
export async function makeFirstKey(folder: DataFolder): Promise<string | undefined> {
  const details = { subject: 'user:admin', roles: ['role:admin'], expires: null };
  let text: string | undefined;
  await updateKeys(folder.keys, async (keys) => {
    if (keys.length > 0) return keys;
    const made = makeKey(details, new Date());
    // Before the keys have it: a crash between the two leaves no key that nobody holds.
    await replaceFile(folder.initialKey, `${made.text}\n`);
    text = made.text;
    return [made.stored];
  });
  return text;
}
