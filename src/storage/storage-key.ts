import { InvalidKey } from './storage-error.ts';

/** A character that no key holds, a name that is empty, `.` or `..`, or a slash at the end. */
const INVALID = /\0|\/(?:\/|\.\.?(?:\/|$)|$)/;

/** A key, as it was given. @throws InvalidKey for what is none. */
export function checkedKey(key: string): string {
  if (key.charCodeAt(0) !== SLASH || INVALID.test(key)) throw new InvalidKey(key);
  return key;
}

/** The key of a folder, as it was given: `/` is the folder of all. @throws InvalidKey for what is none. */
export function checkedFolder(key: string): string {
  return key === '/' ? key : checkedKey(key);
}

const SLASH = 0x2f;
