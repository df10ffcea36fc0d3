import { readSync } from 'node:fs';

/** Reads of no more bytes than this may be done at once. */
const FEW_BYTES = 65_536;
/** A read that took so long had to wait for the disk. */
const SLOW_MILLIS = 0.5;
/** After one that had to wait, so many others are left to the system's threads. */
const PAUSE = 64;

let paused = 0;

/**
 * Fills a few bytes from a file that the system most likely has in memory: that takes a few
 * microseconds, and to have a thread do it ten times as many. Should the disk be asked after all,
 * the next reads are not done here, so that hardly anybody waits for it.
 * @returns how many bytes were read; null when it is better done by others.
 */
export function readQuickly(fd: number, bytes: Uint8Array, offset: number): number | null {
  if (bytes.length > FEW_BYTES) return null;
  if (paused > 0) {
    paused -= 1;
    return null;
  }
  const start = performance.now();
  const count = readSync(fd, bytes, 0, bytes.length, offset);
  if (performance.now() - start > SLOW_MILLIS) paused = PAUSE;
  return count;
}
