import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';
import { basename } from 'node:path';

/** How much a thread of heavy work gives way: 0 not at all, 19 to everybody. */
const NICENESS = 10;

/**
 * Lets the thread that calls it give way to the threads of the same machine that
 * decide and answer, wherever both want a processor. Where the system has no
 * priorities of threads, as on anything but Linux, it does nothing.
 */
export function giveWay(): void {
  try {
    // The link is of the kind `4711/task/4712`; the priority of a process is that of its first thread.
    setPriority(Number(basename(readlinkSync('/proc/thread-self'))), NICENESS);
  } catch {
    // It works as well without, only less politely.
  }
}
