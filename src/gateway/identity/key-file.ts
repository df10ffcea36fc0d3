import { open, readFile, rm, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { replaceText } from '../../storage/replaced-file.ts';
import { systemErrorCode } from '../http/file-mark.ts';
import { FORMAT, KeyFileError, parseCopy, parseKeys, sharedChange } from './key-document.ts';
import type { SharedKeySet } from './sealed-keys.ts';
import type { StoredKey } from './keys.ts';

export const KEY_LOCK_TRIES = 100;
export const KEY_LOCK_PAUSE_MILLIS = 50;
/** Keys are changed within milliseconds: a lock that is so old was left by a process that is gone. */
const LOST_MILLIS = 60_000;

/** The keys of a file; none if there is no file yet. @throws KeyFileError */
export async function readKeys(path: string): Promise<readonly StoredKey[]> {
  const text = await textOf(path);
  return text === undefined ? [] : parseKeys(text, path);
}

async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined;
    throw new KeyFileError(`${path} cannot be read (${systemErrorCode(error)})`);
  }
}

/**
 * Replaces the keys by what `change` makes of them: whole, durably, and one
 * process at a time, so that it may be done beside a running gateway.
 * @throws KeyFileError
 */
export async function updateKeys(
  path: string,
  change: (keys: readonly StoredKey[]) => readonly StoredKey[] | Promise<readonly StoredKey[]>,
): Promise<void> {
  await locked(path, async () => {
    const text = await textOf(path);
    if (text !== undefined && sharedChange(text, path) !== undefined) {
      throw new KeyFileError(
        `${path} is a copy of keys that gateways share through Redis: restart a gateway that ran before arrowgate keys move; to use the copy without Redis, remove "shared" from the file`,
      );
    }
    const keys = await change(text === undefined ? [] : parseKeys(text, path));
    await replaceFile(path, `${JSON.stringify({ format: FORMAT, keys }, null, 2)}\n`);
  });
}

/** Copies that were read last, by path: one change reads its copy several times. */
const copies = new LRUCache<string, { readonly text: string; readonly copy: SharedKeySet }>({
  max: 4,
});

/** The copy of shared keys in a file; undefined if there is no file, or one with keys of its own. @throws KeyFileError */
export async function readCopy(path: string): Promise<SharedKeySet | undefined> {
  const text = await textOf(path);
  if (text === undefined) return undefined;
  const known = copies.get(path);
  if (known?.text === text) return known.copy;
  const parsed = parseCopy(text, path);
  if (parsed === undefined) return undefined;
  const copy = { ...parsed, keys: new Map(parsed.keys.map((key) => [key.id, key])) };
  copies.set(path, { text, copy });
  return copy;
}

/** Whether a file holds keys of its own, which are in no store. @throws KeyFileError */
export async function hasOwnKeys(path: string): Promise<boolean> {
  const text = await textOf(path);
  return text !== undefined && sharedChange(text, path) === undefined;
}

/**
 * Replaces the copy of shared keys, unless the file has a newer one.
 * @param own Whether keys of its own may be replaced.
 * @throws KeyFileError
 */
export async function writeCopy(
  path: string,
  set: SharedKeySet,
  own: 'refuse' | 'replace',
): Promise<void> {
  const text = copyText(set);
  if ((await textOf(path)) === text) return;
  await locked(path, async () => {
    const found = await textOf(path);
    const change = found === undefined ? undefined : sharedChange(found, path);
    if (own === 'refuse' && found !== undefined && change === undefined)
      throw new KeyFileError(ownKeysFault(path));
    if (change !== undefined && change > set.change) return;
    await replaceFile(path, text);
  });
}

function copyText({ change, keys }: SharedKeySet): string {
  const document = { format: FORMAT, shared: change, keys: [...keys.values()] };
  return `${JSON.stringify(document, null, 2)}\n`;
}

/** Why keys in a file and shared keys cannot be used together, and what to do. */
export function ownKeysFault(path: string): string {
  return `${path} holds keys of its own, but the gateways of this catalog share their keys: arrowgate keys move adds the keys of the file to them`;
}

async function locked(path: string, work: () => Promise<void>): Promise<void> {
  const lock = `${path}.lock`;
  await takeLock(lock);
  try {
    await work();
  } finally {
    await rm(lock, { force: true });
  }
}

async function takeLock(lock: string): Promise<void> {
  for (let tries = 0; tries < KEY_LOCK_TRIES; tries += 1) {
    if (await isMade(lock)) return;
    if (!(await isLost(lock))) await sleep(KEY_LOCK_PAUSE_MILLIS);
  }
  throw new KeyFileError(`${lock} is held; if no other command is changing keys, remove it`);
}

/** Makes a file that is not there yet. @throws KeyFileError */
async function isMade(path: string): Promise<boolean> {
  try {
    await (await open(path, 'wx', 0o600)).close();
    return true;
  } catch (error) {
    if (systemErrorCode(error) === 'EEXIST') return false;
    throw new KeyFileError(`${path} cannot be made (${systemErrorCode(error)})`);
  }
}

/**
 * Removes a lock that a process has left which is gone. One process at a time looks, so that
 * no process removes a lock that another has taken meanwhile; both times are those of the file system.
 */
async function isLost(lock: string): Promise<boolean> {
  const looking = `${lock}.looking`;
  if (!(await isMade(looking))) return false;
  try {
    const [held, now] = await Promise.all([stat(lock), stat(looking)]);
    if (now.mtimeMs - held.mtimeMs < LOST_MILLIS) return false;
    await rm(lock, { force: true });
    return true;
  } catch (error) {
    // It was given back a moment ago.
    if (systemErrorCode(error) === 'ENOENT') return true;
    throw new KeyFileError(`${lock} cannot be looked at (${systemErrorCode(error)})`);
  } finally {
    await rm(looking, { force: true });
  }
}

/** Puts a text in place of a file of mode 0600: a reader sees the old content or the new. @throws KeyFileError */
export async function replaceFile(path: string, text: string): Promise<void> {
  await replaceText(path, text).catch((error: unknown) => {
    throw new KeyFileError(`${path} cannot be written (${systemErrorCode(error)})`);
  });
}
