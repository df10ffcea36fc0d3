import { dirname } from 'node:path';
import { randomUUID } from 'node:crypto';
import { readUpTo } from '../../storage/open-object.ts';
import { isTaken } from '../../storage/storage-error.ts';
import type { NewObject, OpenObject, Storage } from '../../storage/storage.ts';
import { logStorage, openLogFile } from '../chain/log-files.ts';

/** Bytes of an object that are written by one request; a larger one is written in parts. */
const WHOLE_BYTES = 4 * 2 ** 20;
/** Bytes that are copied at once. */
const PIECE_BYTES = 2 ** 20;

/**
 * Puts bytes of a file of the log into an object, unless there is an object of that name.
 * The memory for it is bounded.
 * @throws as `openLogFile` and the storage do
 */
export async function putFile(
  storage: Storage,
  key: string,
  path: string,
  from = 0,
  to?: number,
): Promise<number> {
  const file = openLogFile(path);
  try {
    const end = to ?? file.size();
    if (end - from <= WHOLE_BYTES) {
      const bytes = Buffer.allocUnsafe(end - from);
      await readUpTo(file, bytes, from);
      await storage.putIfAbsent(key, bytes);
    } else {
      await writeNew(storage.create(key), file, from, end).catch((error: unknown) => {
        if (!isTaken(error)) throw error;
      });
    }
    return end - from;
  } finally {
    file.close();
  }
}

/** Brings an object to the disk: complete under its name, or not there. */
export async function bringFile(storage: Storage, key: string, path: string): Promise<void> {
  const temporary = `${path}.${randomUUID()}.new`;
  const object = await storage.open(key);
  try {
    await writeNew(logStorage.create(temporary, { mode: 0o600 }), object, 0, object.size());
    logStorage.rename(temporary, path);
    await logStorage.flush(dirname(path));
  } catch (error) {
    await logStorage.remove(temporary).catch(() => undefined);
    throw error;
  } finally {
    object.close();
  }
}

/** Bytes of an object from one position to another, or up to its end. */
export async function bytesOfObject(
  storage: Storage,
  key: string,
  from: number,
  to: number,
): Promise<Buffer> {
  const object = await storage.open(key);
  try {
    const bytes = Buffer.allocUnsafe(to - from);
    return bytes.subarray(0, await readUpTo(object, bytes, from));
  } finally {
    object.close();
  }
}

async function writeNew(
  made: NewObject,
  from: OpenObject,
  start: number,
  end: number,
): Promise<void> {
  try {
    for (let at = start; at < end;) {
      const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, end - at));
      const read = await readUpTo(from, piece, at);
      if (read === 0) break;
      await made.write([piece.subarray(0, read)]);
      at += read;
    }
    await made.end();
    await made.sync();
  } catch (error) {
    await made.abandon();
    throw error;
  }
}

/** Does some work for each item, a few at a time. @throws the first error, after the work that was begun */
export async function forEachOf<Item>(
  items: Iterable<Item>,
  most: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const waiting = [...items];
  const lane = async (): Promise<void> => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item);
  };
  const ended = await Promise.allSettled(Array.from({ length: most }, lane));
  for (const each of ended) if (each.status === 'rejected') throw each.reason;
}
