import { join } from 'node:path';
import { openNotesFolder, readNotesFolder } from './notes-folder.ts';
import { openNotesRedis } from './notes-redis.ts';
import type { Notes, ReadNotes } from './notes.ts';
import type { StoreOptions } from './open-store.ts';

/**
 * Opens the notes beside the store that was chosen.
 * @param purpose What they are for: each has notes of its own.
 * @throws StoreError address
 */
export async function openNotes(
  { redis, catalog, folder }: StoreOptions,
  purpose: 'notes' | 'verdicts' = 'notes',
): Promise<Notes> {
  return redis === null
    ? openNotesFolder(join(folder, purpose))
    : openNotesRedis(redis, catalog, purpose);
}

/** The same notes for reading: nothing is made. @throws StoreError address */
export async function openNotesForReading(
  { redis, catalog, folder }: StoreOptions,
  purpose: 'notes' | 'verdicts' = 'notes',
): Promise<ReadNotes> {
  return redis === null
    ? readNotesFolder(join(folder, purpose))
    : openNotesRedis(redis, catalog, purpose);
}
