import { execFile } from 'node:child_process';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Service } from './service.ts';

const run = promisify(execFile);
const BYTES = 48 * 2 ** 20;
const PIECE = 2 ** 16;

/** A disk that has room or none, as a test wants it. */
export interface LittleDisk {
  /** What stands for it. */
  readonly kind: 'a file system of its own' | 'a limit of file sizes';
  /** A folder on it. */
  readonly folder: string;
  /** From now on there is no room for a service whose folder is on it. */
  fill(service: Service): Promise<void>;
  /** From now on there is room again. */
  free(service: Service): Promise<void>;
  close(): Promise<void>;
}

/** A file system in memory; where this user may not mount one, the limit of file sizes of a process stands for it. */
export async function openLittleDisk(): Promise<LittleDisk> {
  const folder = await mkdtemp(join(tmpdir(), 'little-disk-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${BYTES}`, 'none', folder]);
  } catch {
    return { kind: 'a limit of file sizes', folder, ...limits, close: remove };
  }
  const filler = join(folder, 'filler');
  return {
    kind: 'a file system of its own',
    folder,
    fill: () => fillUp(filler),
    free: () => rm(filler, { force: true }),
    close: async () => {
      await run('umount', ['--lazy', folder]);
      await remove();
    },
  };
}

const limits = {
  fill: (service: Service) => limitFiles(service, 512),
  free: (service: Service) => limitFiles(service, 'unlimited'),
};

async function limitFiles({ pid }: Service, bytes: number | 'unlimited'): Promise<void> {
  await run('prlimit', ['--pid', String(pid), `--fsize=${bytes}:`]);
}

async function fillUp(path: string): Promise<void> {
  const file = await open(path, 'a');
  try {
    for (let piece = PIECE; piece >= 1; piece >>= 1) {
      await writeAll(() => file.write(Buffer.alloc(piece)));
    }
  } finally {
    await file.close();
  }
}

/** Writes until there is no room. */
async function writeAll(write: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await write();
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') return;
      throw error;
    }
  }
}
