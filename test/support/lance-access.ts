import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LanceAccess } from '../../src/engine/handlers/rows/library-reads.ts';
import { LanceRows } from '../../src/lance/lance-rows.ts';
import { LibraryPool } from '../../src/lance/library-pool.ts';
import { ProcessScratch } from '../../src/store/process-scratch.ts';

/** A process of the Lance library for an engine in this process. Close it after the engine. */
export async function libraryAccess(): Promise<LanceAccess & { close(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'library-'));
  const pool = new LibraryPool({
    processes: 1,
    memory: 2 ** 31,
    scratch: new ProcessScratch('library', folder),
    onFault: (fault) => {
      throw new Error(fault);
    },
  });
  return {
    library: new LanceRows(pool),
    instead: 'or open it at its location',
    close: async () => {
      await pool.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
