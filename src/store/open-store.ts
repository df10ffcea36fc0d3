import { openEmbeddedStore } from './embedded.ts';
import type { OnAvailability } from './redis-client.ts';
import { openRedisStore } from './redis.ts';
import type { Store } from './store.ts';

/** Which store coordinates a catalog. */
export interface StoreOptions {
  /** The address of a Redis; null for the embedded store. */
  readonly redis: string | null;
  /** The catalog's name in Redis. */
  readonly catalog: string;
  /** The folder of the embedded store. */
  readonly folder: string;
  /** Told when Redis becomes unavailable, and when it is available again. */
  readonly onAvailability?: OnAvailability;
}

/**
 * Opens the store that was chosen.
 * @throws StoreError address for an address that names no Redis.
 */
export async function openStore({ redis, folder, ...options }: StoreOptions): Promise<Store> {
  return redis === null ? openEmbeddedStore(folder) : openRedisStore({ url: redis, ...options });
}
