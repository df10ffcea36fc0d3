import { randomUUID } from 'node:crypto';
import { linkSync, renameSync, statSync, unlinkSync } from 'node:fs';
import { chmod, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { FileDescriptor } from './file-descriptor.ts';
import { Flushes } from './flushes.ts';
import { syncFolder } from './folder.ts';
import { isMissing, isTaken } from './storage-error.ts';

/**
 * Writes a file whole. After this its bytes and its name are on stable storage;
 * when it throws there is no such file. A crash before that may leave a part of it: a
 * file whose name means something is written under another name first and then linked.
 */
export async function writeDurable(path: string, bytes: Uint8Array, mode?: number): Promise<void> {
  try {
    await writeAndSync(path, bytes, mode);
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}

async function writeAndSync(path: string, bytes: Uint8Array, mode?: number): Promise<void> {
  const file = FileDescriptor.open(path, 'w', mode);
  try {
    await file.write([bytes]);
    // The name is there since the file is open; both ways to the disk are gone at once.
    const flushes = new Flushes();
    flushes.add(file.sync());
    flushes.add(syncFolder(dirname(path)));
    await flushes.settled();
  } finally {
    file.close();
  }
}

/**
 * Gives a file a second name unless the name is taken. After this the name is on stable storage, also if
 * another process made it. The durability of the file's bytes is unchanged.
 */
export async function linkDurable(from: string, to: string): Promise<'created' | 'exists'> {
  const outcome = linkIfAbsent(from, to);
  await syncFolder(dirname(to));
  return outcome;
}

function linkIfAbsent(from: string, to: string): 'created' | 'exists' {
  try {
    linkSync(from, to);
    return 'created';
  } catch (error) {
    if (isTaken(error)) return 'exists';
    throw error;
  }
}

/** Removes a file, or a link, if it is there. The removal is not on stable storage after this. */
export function removeIfPresent(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

/**
 * Gives a file another name, unless that is taken. Only one process at a time may
 * give a file this name. A crash leaves the file under one of the two names;
 * which one is settled when the folder is synced.
 */
export function renameIfAbsent(from: string, to: string): 'created' | 'exists' {
  if (statSync(to, { throwIfNoEntry: false }) !== undefined) return 'exists';
  renameSync(from, to);
  return 'created';
}

/**
 * Writes a file under its name if the name is free: nobody ever sees a part of
 * it. After this a file of that name is on stable storage, this one or the
 * other's.
 * @param mode Of the file; the umask decides when absent.
 */
export async function createDurable(
  path: string,
  bytes: Uint8Array,
  mode?: number,
): Promise<'created' | 'exists'> {
  const draft = `${path}.${randomUUID()}`;
  try {
    await writeDurable(draft, bytes, mode);
    // The umask may have taken rights away.
    if (mode !== undefined) await chmod(draft, mode);
    return await linkDurable(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
}
