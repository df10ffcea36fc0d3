import { randomUUID } from 'node:crypto';
import { openRedisStore } from '../../src/store/redis/store.ts';
import type { StoreUnderTest } from '../conformance/store.ts';

/** Opens the store of a catalog of its own in a Redis. */
export async function freshRedisStore(url: string): Promise<StoreUnderTest> {
  const catalog = randomUUID();
  let store = await openRedisStore({ url, catalog });
  return {
    store,
    reopen: async () => {
      await store.close();
      store = await openRedisStore({ url, catalog });
      return store;
    },
    close: () => store.close(),
  };
}
