import { readFile } from 'node:fs/promises';

/** The processes that a process has started and that still run. */
export async function childrenOf(pid: number): Promise<readonly number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  const pids = text.split(' ').filter((word) => word !== '');
  const running = await Promise.all(pids.map(async (word) => isRunning(Number(word))));
  return pids.map(Number).filter((_, at) => running[at]);
}

/** Whether a process runs: one that has ended and is only not yet buried does not. */
export async function isRunning(pid: number): Promise<boolean> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return text !== '' && !/\) [ZX] /.test(text);
}

/** Whether a process is stopped by SIGSTOP. */
export async function isStopped(pid: number): Promise<boolean> {
  return /\) [Tt] /.test(await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''));
}

/** Sends a signal to processes. One of them may have ended since it was listed. */
export function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}
