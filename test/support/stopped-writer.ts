import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { WriteLock } from '../../src/store/embedded/write-lock.ts';
import { PATIENCE_MILLIS } from './eventually.ts';
import { isStopped } from './processes.ts';

/** Path of the folder of the embedded store. */
function storeOf(data: string): string {
  return join(data, 'private', 'store');
}

/**
 * Stops a process while it holds the write lock of the embedded store: by SIGSTOP at any moment,
 * again and again, until it does. Something has to write through it.
 * @param pids The processes that may hold it; all of them are stopped if none is named by the lock.
 * @returns The process that is stopped.
 */
export async function stopInWrite(data: string, pids: readonly number[]): Promise<number> {
  for (const until = Date.now() + PATIENCE_MILLIS; Date.now() < until; await sleep(3)) {
    for (const pid of pids) {
      process.kill(pid, 'SIGSTOP');
      while (!(await isStopped(pid))) await sleep(1);
      if (pid === (await holderOf(data))) return pid;
      process.kill(pid, 'SIGCONT');
    }
  }
  throw new Error('no process was ever found in a write');
}

/** The process that holds the write lock; undefined if it is free. */
async function holderOf(data: string): Promise<number | undefined> {
  const lock = new WriteLock(storeOf(data));
  try {
    if (lock.tryTake()) {
      lock.release();
      return undefined;
    }
    return lock.holder();
  } finally {
    lock.close();
  }
}
