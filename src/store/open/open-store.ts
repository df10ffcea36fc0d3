import { join } from 'node:path';
import { openEmbeddedReading, openEmbeddedStore } from '../embedded/store.ts';
import { exists } from '../../storage/folder.ts';
import { emptyStore, readingStore } from '../reading-store.ts';
import type { OnAvailability } from '../redis/client.ts';
import { openRedisStore } from '../redis/store.ts';
import type { Store } from '../store.ts';
import { openNotesFolder, readNotesFolder } from '../embedded/notes.ts';
import { openNotesRedis } from '../redis/notes.ts';
import type { Notes, ReadNotes } from '../notes.ts';

/** Which store coordinates a catalog. */
export interface StoreOptions {
  /** The address of a Redis; null for the embedded store. */
  readonly redis: string | null;
  /** The catalog's name in Redis. */
  readonly catalog: string;
  /** The folder of the embedded store. */
  readonly folder: string;
  /** Called when Redis becomes unavailable, and when it is available again. */
  readonly onAvailability?: OnAvailability;
}

/**
 * Opens the store that was chosen.
 * @throws StoreError address for an address that names no Redis.
 */
export async function openStore({ redis, folder, ...options }: StoreOptions): Promise<Store> {
  return redis === null ? openEmbeddedStore(folder) : openRedisStore({ url: redis, ...options });
}

/**
 * Opens the store that was chosen for reading: nothing is made, and nothing can be written.
 * @param absent What an embedded store that is not there is: an error, or one that lost everything.
 * @throws StoreError address; unavailable when the embedded store is not there.
 */
export async function openStoreForReading(
  options: StoreOptions,
  absent: 'error' | 'lost' = 'error',
): Promise<Store> {
  const { redis, catalog, folder } = options;
  if (redis === null) {
    const isLost = absent === 'lost' && !(await exists(join(folder, 'data.mdb')));
    return isLost ? emptyStore() : openEmbeddedReading(folder);
  }
  return readingStore(await openRedisStore({ url: redis, catalog }));
}

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
