import { join } from 'node:path';
import { openEmbeddedReading, openEmbeddedStore } from '../embedded/store.ts';
import { pathExists } from '../../storage/folder.ts';
import { emptyStore, readingStore } from '../reading-store.ts';
import type { OnAvailability } from '../redis/client.ts';
import type { OnStoreDamage } from '../damage.ts';
import type { Store } from '../store.ts';
import { openNotesFolder, readNotesFolder } from '../embedded/notes.ts';
import type { Notes, ReadNotes } from '../notes.ts';
import { MemoryQuota } from '../embedded/memory-quota.ts';
import type { Quota } from '../quota.ts';

/** The store of a catalog. */
export interface StoreOptions {
  /** Address of Redis; null for the embedded store. */
  readonly redis: string | null;
  /** The catalog's name in Redis. */
  readonly catalog: string;
  /** The folder of the embedded store. */
  readonly folder: string;
  /** How long a commit to the embedded store waits for another process, in ms. */
  readonly waitMillis?: number;
  /** Called when Redis becomes unavailable, and when it is available again. */
  readonly onAvailability?: OnAvailability;
  /** Called for damage that is found, each time it is found. */
  readonly onDamage?: OnStoreDamage;
}

/**
 * Each purpose has its own notes: checkpoints, verdicts of commit rules, digests of policies, scrub, sessions of the
 * console, presence of processes, uses of keys.
 */
type NotesPurpose =
  | 'notes'
  | 'verdicts'
  | 'policies'
  | 'scrub'
  | 'sessions'
  | 'presence'
  | 'key-uses';

/**
 * Opens a store.
 * @throws StoreError address for an invalid address of Redis; busy if another process does not
 *   let this one write to the embedded store.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { redis, folder, waitMillis, ...shared } = options;
  if (redis !== null) return (await redisStore()).openRedisStore({ url: redis, ...shared });
  return openEmbeddedStore(folder, { waitMillis, onDamage: shared.onDamage });
}

/**
 * Opens a store for reading; creates and writes nothing.
 * @param absent Whether a missing embedded store is an error or an empty store.
 * @throws StoreError address; unavailable if the embedded store is missing.
 */
export async function openStoreForReading(
  options: StoreOptions,
  absent: 'error' | 'lost' = 'error',
): Promise<Store> {
  const { redis, catalog, folder, onDamage } = options;
  if (redis === null) {
    const isLost = absent === 'lost' && !(await pathExists(join(folder, 'data.mdb')));
    return isLost ? emptyStore() : openEmbeddedReading(folder, onDamage);
  }
  const { openRedisStore } = await redisStore();
  return readingStore(await openRedisStore({ url: redis, catalog, onDamage }));
}

/** Redis and its driver are loaded by processes that use them only. */
const redisStore = () => import('../redis/store.ts');
const redisNotes = () => import('../redis/notes.ts');
const redisQuota = () => import('../redis/quota.ts');

/**
 * Opens the notes beside a store.
 * @throws StoreError address
 */
export async function openNotes(
  { redis, catalog, folder }: StoreOptions,
  purpose: NotesPurpose = 'notes',
): Promise<Notes> {
  return redis === null
    ? openNotesFolder(join(folder, purpose))
    : (await redisNotes()).openNotesRedis(redis, catalog, purpose);
}

/** The same notes for reading; creates nothing. @throws StoreError address */
export async function openNotesForReading(
  { redis, catalog, folder }: StoreOptions,
  purpose: NotesPurpose = 'notes',
): Promise<ReadNotes> {
  return redis === null
    ? readNotesFolder(join(folder, purpose))
    : (await redisNotes()).openNotesRedis(redis, catalog, purpose);
}

/** Opens the counters of limits, in Redis or in this process. @throws StoreError address */
export async function openQuota({
  redis,
  catalog,
}: Pick<StoreOptions, 'redis' | 'catalog'>): Promise<Quota> {
  if (redis === null) return new MemoryQuota();
  return (await redisQuota()).openRedisQuota({ url: redis, catalog });
}
