import type { FileHandle } from 'node:fs/promises';
import type { RandomAccess } from '../../arrow/random-access.ts';

/** Random access to bytes that are in memory. */
export function bytesAccess(bytes: Uint8Array): RandomAccess {
  return {
    size: bytes.byteLength,
    read: (offset, length) => Promise.resolve(aligned(bytes.subarray(offset, offset + length))),
  };
}

/** Arrow's buffers are read in place, so they must begin at a multiple of eight. */
function aligned(bytes: Uint8Array): Uint8Array {
  return bytes.byteOffset % 8 === 0 ? bytes : new Uint8Array(bytes);
}

/** An open file whose length no longer changes. */
export interface OpenFile {
  readonly handle: FileHandle;
  readonly size: number;
  readonly path: string;
}

/**
 * Random access to an open file.
 * @param take Memory for a read, from the start of a buffer.
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
  };
}

/** Fills bytes with those of an open file from an offset on. */
async function readInto(
  handle: FileHandle,
  bytes: Uint8Array,
  offset: number,
  name: string,
): Promise<void> {
  const { length } = bytes;
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await handle.read(bytes, filled, length - filled, offset + filled);
    if (bytesRead === 0) throw new Error(`${name} ends at byte ${offset + filled}`);
    filled += bytesRead;
  }
}
