import { open, readFile, rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { replaceText } from '../store/replaced-file.ts';
import { FORMAT, KeyFileError, parseKeys } from './key-document.ts';
import type { StoredKey } from './keys.ts';

const LOCK_TRIES = 100;
const LOCK_WAIT_MILLIS = 50;

/** The keys of a file; none if there is no file yet. @throws KeyFileError */
export async function readKeys(path: string): Promise<readonly StoredKey[]> {
  const text = await textOf(path);
  return text === undefined ? [] : parseKeys(text, path);
}

async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw new KeyFileError(`${path} cannot be read (${codeOf(error)})`);
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
  const lock = `${path}.lock`;
  await takeLock(lock);
  try {
    const keys = await change(await readKeys(path));
    await replaceFile(path, `${JSON.stringify({ format: FORMAT, keys }, null, 2)}\n`);
  } finally {
    await rm(lock, { force: true });
  }
}

async function takeLock(lock: string): Promise<void> {
  for (let tries = 0; tries < LOCK_TRIES; tries += 1) {
    try {
      const handle = await open(lock, 'wx', 0o600);
      await handle.close();
      return;
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') {
        throw new KeyFileError(`${lock} cannot be made (${codeOf(error)})`);
      }
    }
    await sleep(LOCK_WAIT_MILLIS);
  }
  throw new KeyFileError(`${lock} is held; if no other command is changing keys, remove it`);
}

/** Puts a text in place of a file of mode 0600: a reader sees the old content or the new. @throws KeyFileError */
export async function replaceFile(path: string, text: string): Promise<void> {
  await replaceText(path, text).catch((error: unknown) => {
    throw new KeyFileError(`${path} cannot be written (${codeOf(error)})`);
  });
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : 'unknown error';
}
