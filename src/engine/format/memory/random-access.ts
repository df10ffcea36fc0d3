import { readSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import type { RandomAccess } from '../../../arrow/ipc/random-access.ts';

/** Up to this size a synchronous read is faster than waking another thread. */
const SMALL_BYTES = 2 ** 16;

/** Random access to bytes in memory. */
export function bytesAccess(bytes: Uint8Array): RandomAccess {
  return {
    size: bytes.byteLength,
    read: (offset, length) => Promise.resolve(aligned(bytes.subarray(offset, offset + length))),
  };
}

/** Arrow buffers are used in place, so they must begin at a multiple of eight. */
function aligned(bytes: Uint8Array): Uint8Array {
  return bytes.byteOffset % 8 === 0 ? bytes : new Uint8Array(bytes);
}

/** An open file of constant length. */
export interface OpenFile {
  readonly handle: FileHandle;
  readonly size: number;
  readonly path: string;
}

/**
 * Random access to an open file.
 * @param take Allocates memory for a read, from the start of a buffer.
 */
export function fileAccess(
  { handle, size, path }: OpenFile,
  take: (length: number) => Uint8Array = (length) => new Uint8Array(length),
): RandomAccess {
  return {
    size,
    read: async (offset, length) => {
      const bytes = take(length);
      await readInto(handle, bytes, offset, path);
      return bytes;
    },
    readNow: (offset, length) => {
      if (length > SMALL_BYTES) return undefined;
      const bytes = take(length);
      readSmall(handle, bytes, offset, path);
      return bytes;
    },
  };
}

function readSmall(handle: FileHandle, bytes: Uint8Array, offset: number, name: string): void {
  for (let filled = 0; filled < bytes.length;) {
    const [left, from] = [bytes.length - filled, offset + filled];
    filled += checked(readSync(handle.fd, bytes, filled, left, from), from, name);
  }
}

function checked(bytesRead: number, from: number, name: string): number {
  if (bytesRead === 0) throw new Error(`${name} ends at byte ${from}`);
  return bytesRead;
}

/** Fills a buffer from an open file. */
async function readInto(
  handle: FileHandle,
  bytes: Uint8Array,
  offset: number,
  name: string,
): Promise<void> {
  const { length } = bytes;
  if (length <= SMALL_BYTES) {
    readSmall(handle, bytes, offset, name);
    return;
  }
  for (let filled = 0; filled < length;) {
    const [left, from] = [length - filled, offset + filled];
    const { bytesRead } = await handle.read(bytes, filled, left, from);
    filled += checked(bytesRead, from, name);
  }
}
