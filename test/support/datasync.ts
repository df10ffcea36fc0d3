import { vi } from 'vitest';
import { FileDescriptor } from '../../src/storage/file-descriptor.ts';

/** Counts the flushes of files (fdatasync) while something runs. They still happen. */
export async function countFlushes(run: () => Promise<void>): Promise<number> {
  const spy = vi.spyOn(FileDescriptor.prototype, 'datasync');
  try {
    await run();
    return spy.mock.calls.length;
  } finally {
    spy.mockRestore();
  }
}
