import { randomUUID } from 'node:crypto';
import { link, open, readFile, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncFolder } from '../store/folder.ts';

export { makeFolder, syncFolder } from '../store/folder.ts';

/** The bytes of a file; undefined when there is none. */
export async function readIfPresent(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/**
 * Writes a file whole. After this its bytes and its name are on stable storage.
 * A crash before that may leave a part of it: a file whose name means something
 * is written under another name first and then linked.
 */
export async function writeDurable(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, 'w');
  try {
    await file.writeFile(bytes);
    // The name is there since the file is open; both ways to the disk are gone at once.
    await Promise.all([file.sync(), syncFolder(dirname(path))]);
  } finally {
    await file.close();
  }
}

/**
 * Gives a file a second name, unless the name is taken. After this the name is
 * on stable storage, whoever made it. The file's bytes are as durable as they were.
 */
export async function linkDurable(from: string, to: string): Promise<'created' | 'exists'> {
  const outcome = await linkIfAbsent(from, to);
  await syncFolder(dirname(to));
  return outcome;
}

async function linkIfAbsent(from: string, to: string): Promise<'created' | 'exists'> {
  try {
    await link(from, to);
    return 'created';
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return 'exists';
    throw error;
  }
}

/**
 * Writes a file under its name if the name is free: nobody ever sees a part of
 * it. After this a file of that name is on stable storage, this one or the
 * other's.
 */
export async function createDurable(
  path: string,
  bytes: Uint8Array,
): Promise<'created' | 'exists'> {
  const draft = `${path}.${randomUUID()}`;
  try {
    await writeDurable(draft, bytes);
    return await linkDurable(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
