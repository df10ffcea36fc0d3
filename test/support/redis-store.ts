import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import type { StoreDamage } from '../../src/store/damage.ts';
import { openRedisStore } from '../../src/store/redis/store.ts';
import type { Store } from '../../src/store/store.ts';
import type { DamageableStore, StoreBytes } from '../conformance/store-damage.ts';

/** A store in Redis whose bytes can be changed. */
interface RedisUnderTest extends DamageableStore {
  readonly bytes: StoreBytes & {
    /** Removes a value and leaves its key. */
    loseValue(key: string): Promise<void>;
  };
  /** Opens the same store again, as another process would; the caller closes it. */
  beside(): Promise<Store>;
}

/** Opens the store of a catalog of its own in a Redis. */
export async function freshRedisStore(url: string): Promise<RedisUnderTest> {
  const catalog = randomUUID();
  const reported: StoreDamage[] = [];
  const open = () => openRedisStore({ url, catalog, onDamage: (one) => reported.push(one) });
  const name = (part: string) => `{arrowgate:${catalog}}:${part}`;
  let store = await open();
  let other: Redis | undefined;
  const client = () => (other ??= new Redis(url));
  return {
    store,
    reported,
    beside: open,
    bytes: {
      loseValue: async (key) => {
        await client().hdel(name('values'), key);
      },
      read: async (key) => (await client().hgetBuffer(name('values'), key))!,
      write: async (key, bytes) => {
        if (bytes === null) {
          await client().zrem(name('keys'), key);
          await client().hdel(name('values'), key);
        } else {
          await client().zadd(name('keys'), 0, key);
          await client().hset(name('values'), key, Buffer.from(bytes));
        }
      },
      loseDigests: async () => {
        await client().del(name('digest'));
      },
    },
    reopen: async () => {
      await store.close();
      store = await open();
      return store;
    },
    close: async () => {
      other?.disconnect();
      await store.close();
    },
  };
}
