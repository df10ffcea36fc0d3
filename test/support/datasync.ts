import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { vi } from 'vitest';

/** Counts the flushes of files (fdatasync) while something runs. They still happen. */
export async function countFlushes(run: () => Promise<void>): Promise<number> {
  const any = await open(tmpdir(), 'r');
  const spy = vi.spyOn(Object.getPrototypeOf(any) as typeof any, 'datasync');
  await any.close();
  try {
    await run();
    return spy.mock.calls.length;
  } finally {
    spy.mockRestore();
  }
}
