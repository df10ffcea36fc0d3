import { open, type FileHandle } from 'node:fs/promises';
import { crc32 } from '@node-rs/crc32';
import type { SharedBytes } from '../../engine/versions/managed/lance-library.ts';

/** Bytes of one read. */
const READ_BYTES = 2 ** 22;

/**
 * Reads the bytes that another process shares: its rows need not go through a socket, which would copy them three times.
 * @param into Memory of their size.
 * @param isEnded Whether nobody wants them any more.
 * @returns Whether they are there, and those that were shared.
 */
export async function readShared(
  { path, start, sum }: SharedBytes,
  into: Buffer,
  isEnded: () => boolean,
): Promise<boolean> {
  try {
    const file = await open(path);
    try {
      return (await readAll(file, start, into, isEnded)) === sum;
    } finally {
      await file.close();
    }
  } catch {
    return false;
  }
}

/** The CRC-32 of what was read; undefined for too few bytes. */
async function readAll(
  file: FileHandle,
  start: number,
  into: Buffer,
  isEnded: () => boolean,
): Promise<number | undefined> {
  let sum = 0;
  for (let filled = 0; filled < into.byteLength;) {
    const length = Math.min(READ_BYTES, into.byteLength - filled);
    const { bytesRead } = await file.read(into, filled, length, start + filled);
    if (bytesRead === 0 || isEnded()) return undefined;
    sum = crc32(into.subarray(filled, filled + bytesRead), sum);
    filled += bytesRead;
  }
  return sum;
}
