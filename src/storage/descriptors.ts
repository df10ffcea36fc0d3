import { readFileSync } from 'node:fs';

/** How many files and sockets this process may have open (`ulimit -n`); infinite where that is unknown. */
export const descriptorLimit: number = limitOf('/proc/self/limits');

function limitOf(path: string): number {
  try {
    return Number(/^Max open files +(\d+)/m.exec(readFileSync(path, 'utf8'))?.[1] ?? Infinity);
  } catch {
    return Infinity;
  }
}

/** Below this number, a process has one worker thread: each has about ten descriptors of its own. */
const FEW = 256;
/** Descriptors that are left for files where there are many. */
const FOR_FILES = 512;

/**
 * Number of connections that a listener or a remote backend has at once: a quarter of the descriptors, or
 * all but 512. The rest is for files and threads.
 */
export function connectionsWithin(limit: number): number {
  return Math.max(Math.floor(limit / 4), limit - FOR_FILES);
}

/** Number of data files that stay open in each thread. @param most Number where there are enough descriptors */
export function filesWithin(limit: number, most: number): number {
  return Math.max(1, Math.min(most, Math.floor(limit / 16)));
}

/** Number of worker threads. @param most Number where there are enough descriptors */
export function threadsWithin(limit: number, most: number): number {
  return limit < FEW ? Math.min(1, most) : most;
}
