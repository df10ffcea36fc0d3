import { StorageError } from './storage-error.ts';
import type { Files, OpenObject, Storage } from './storage.ts';

/** All bytes of an object, which is closed after this. */
export async function readWhole(object: OpenObject): Promise<Buffer> {
  try {
    const size = object.plainSize();
    if (size === undefined) throw new StorageError('EISDIR', 'what is to be read is no file');
    const bytes = Buffer.allocUnsafeSlow(size);
    return bytes.subarray(0, await readUpTo(object, bytes, 0));
  } finally {
    object.close();
  }
}

/**
 * Fills memory with bytes from a position on, as many as there are. One read may give fewer.
 * @returns How many.
 */
export async function readUpTo(
  object: OpenObject,
  into: Uint8Array,
  position: number,
): Promise<number> {
  let filled = 0;
  while (filled < into.byteLength) {
    const read = await object.read(into.subarray(filled), position + filled);
    if (read === 0) break;
    filled += read;
  }
  return filled;
}

/** The files of a storage. @throws Error for a storage that has none. */
export function requireFiles({ files }: Storage): Files {
  if (files === undefined) throw new Error('this storage has no files that others can open');
  return files;
}
