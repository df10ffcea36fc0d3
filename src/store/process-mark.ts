import { readFile, readlink } from 'node:fs/promises';
import { hostname, setPriority } from 'node:os';
import { readlinkSync } from 'node:fs';
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

/** What tells a process from all others, those of other machines and earlier ones of the same number too. */
export interface ProcessMark {
  readonly pid: number;
  /** The start of the process in the system's own count; empty where the system does not say. */
  readonly born: string;
  /** The machine, its boot and the namespace in which the number counts. */
  readonly host: string;
}

/** The mark of this process. */
export async function ownMark(): Promise<ProcessMark> {
  const boot = await textOrEmpty(readFile('/proc/sys/kernel/random/boot_id', 'utf8'));
  const space = await textOrEmpty(readlink('/proc/self/ns/pid'));
  const host = [hostname(), boot, space].join(' ');
  return { pid: process.pid, born: await birth(process.pid), host };
}

/**
 * Whether a process still lives; undefined when that cannot be seen from here.
 * @param own The mark of the process that asks.
 */
export async function isAlive(mark: ProcessMark, own: ProcessMark): Promise<boolean | undefined> {
  if (mark.host !== own.host) return undefined;
  return exists(mark.pid) && (await birth(mark.pid)) === mark.born;
}

function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // A process of another user answers so.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** Field 22 of `/proc/<pid>/stat`; the name before it is in brackets and may hold anything. */
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
