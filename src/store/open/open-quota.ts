import { MemoryQuota } from '../embedded/memory-quota.ts';
import type { Quota } from '../quota.ts';
import { openRedisQuota } from '../redis/quota.ts';

/**
 * Opens the counters of limits: in Redis, or in this process when there is none.
 * @throws StoreError address for an address that names no Redis.
 */
export async function openQuota(options: {
  readonly redis: string | null;
  readonly catalog: string;
}): Promise<Quota> {
  const { redis, catalog } = options;
  return redis === null ? new MemoryQuota() : openRedisQuota({ url: redis, catalog });
}
