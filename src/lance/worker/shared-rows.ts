import { closeSync, openSync, readSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { crc32 } from '@node-rs/crc32';
import type { SharedBytes } from '../../engine/versions/managed/lance-library.ts';

/** Bytes of one read, which takes about a millisecond; messages have their turn in between. */
const READ_BYTES = 2 ** 20;

/**
 * Reads the bytes that another process shares: its rows need not go through a socket, which would copy them three times.
 * Threads for reads would take some 40 MiB of what the process may have.
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
    const file = openSync(path, 'r');
    try {
      return (await readAll(file, start, into, isEnded)) === sum;
    } finally {
      closeSync(file);
    }
  } catch {
    return false;
  }
}

/** The CRC-32 of what was read; undefined for too few bytes. */
async function readAll(
  file: number,
  start: number,
  into: Buffer,
  isEnded: () => boolean,
): Promise<number | undefined> {
  let sum = 0;
  for (let filled = 0; filled < into.byteLength;) {
    const length = Math.min(READ_BYTES, into.byteLength - filled);
    const read = readSync(file, into, filled, length, start + filled);
    if (read === 0 || isEnded()) return undefined;
    sum = crc32(into.subarray(filled, filled + read), sum);
    filled += read;
    await nextTurn();
  }
  return sum;
}
