import { open, type FileHandle } from 'node:fs/promises';
import { crc32 } from '@node-rs/crc32';
import type { SharedBytes } from '../../engine/versions/managed/lance-library.ts';

/** Bytes of one read. */
const READ_BYTES = 2 ** 22;
/** Reads at once: most of their time goes into memory that is used for the first time. */
const READS = 3;

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
  const parts = Array.from({ length: Math.ceil(into.byteLength / READ_BYTES) }, (_, at) =>
    into.subarray(at * READ_BYTES, (at + 1) * READ_BYTES),
  );
  const read = (at: number) => file.read(parts[at]!, 0, null, start + at * READ_BYTES);
  const reads: ReturnType<typeof read>[] = [];
  let sum = 0;
  try {
    for (const [at, part] of parts.entries()) {
      while (reads.length < Math.min(parts.length, at + READS)) reads.push(read(reads.length));
      if ((await reads[at]!).bytesRead < part.byteLength || isEnded()) return undefined;
      sum = crc32(part, sum);
    }
    return sum;
  } finally {
    await Promise.allSettled(reads);
  }
}
