import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

/** Where what is measured runs, each alone at its time. */
export const MEASURED_CORE = 0;
/** Where the requests come from. */
export const LOAD_CORE = 1;

const canPin = process.platform === 'linux' && availableParallelism() > 1;

/** A command that runs on one core, where the machine has another beside it. */
export function pinned(
  core: number,
  command: string,
  args: readonly string[],
): readonly [string, readonly string[]] {
  return canPin ? ['taskset', ['-c', String(core), command, ...args]] : [command, args];
}

/** Keeps a process that runs, with all its threads, on one core. */
export function pin(core: number, pid: number): void {
  if (canPin) execFileSync('taskset', ['-acp', String(core), String(pid)], { stdio: 'ignore' });
}
