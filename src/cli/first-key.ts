import { replaceFile, updateKeys } from '../gateway/key-file.ts';
import { makeKey } from '../gateway/keys.ts';
import type { DataFolder } from './data-folder.ts';

/**
 * Makes the first administrator key: its text goes into a file of mode 0600,
 * its hash to the keys. Gives the text.
 */
export async function makeFirstKey(folder: DataFolder): Promise<string> {
  const details = { subject: 'user:admin', roles: ['role:admin'], expires: null };
  const made = makeKey(details, new Date());
  // In this order: a crash between the two leaves no key that nobody holds.
  await replaceFile(folder.initialKey, `${made.text}\n`);
  await updateKeys(folder.keys, (keys) => [...keys, made.stored]);
  return made.text;
}
