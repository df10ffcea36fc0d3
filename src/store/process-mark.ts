import { readFile, readlink } from 'node:fs/promises';
import { hostname, setPriority } from 'node:os';
import { readlinkSync } from 'node:fs';
import { basename } from 'node:path';

/** Niceness of threads with heavy work: 0 is the normal priority, 19 the lowest. */
const NICENESS = 10;

/**
 * Lowers the priority of the calling thread, so that threads that answer requests run first.
 * Does nothing on systems without thread priorities, which are all but Linux.
 * @param backlog Number of tasks that wait for the thread: with enough of them its priority is normal.
 */
export function giveWay(backlog = 0): void {
  try {
    // The link is of the kind `4711/task/4712`; the priority of a process is that of its first thread.
    const thread = Number(basename(readlinkSync('/proc/thread-self')));
    setPriority(thread, Math.max(0, NICENESS - backlog));
  } catch {
    // The thread works at normal priority as well.
  }
}

/** Identity of a process, unique across machines and over time. */
export interface ProcessMark {
  readonly pid: number;
  /** Start time of the process in clock ticks; empty where the system does not provide it. */
  readonly born: string;
  /** Machine, boot and PID namespace. */
  readonly host: string;
}

/** Identity of this process. */
export async function ownMark(): Promise<ProcessMark> {
  const boot = await textOrEmpty(readFile('/proc/sys/kernel/random/boot_id', 'utf8'));
  const space = await textOrEmpty(readlink('/proc/self/ns/pid'));
  const host = [hostname(), boot, space].join(' ');
  return { pid: process.pid, born: await birth(process.pid), host };
}

/**
 * Whether a process is running; undefined for a process of another machine or namespace.
 * @param own Identity of this process.
 */
export async function isAlive(mark: ProcessMark, own: ProcessMark): Promise<boolean | undefined> {
  if (mark.host !== own.host) return undefined;
  return exists(mark.pid) && (await birth(mark.pid)) === mark.born;
}

function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // The process exists and belongs to another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** Field 22 of `/proc/<pid>/stat`; the name before it is in parentheses and may hold any character. */
async function birth(pid: number): Promise<string> {
  const text = await textOrEmpty(readFile(`/proc/${pid}/stat`, 'utf8'));
  return text.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}

async function textOrEmpty(reading: Promise<string>): Promise<string> {
  return reading.then(
    (text) => text.trim(),
    () => '',
  );
}
