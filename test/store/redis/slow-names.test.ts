import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { openRedisStore } from '../../../src/store/redis/store.ts';
import { eventually } from '../../support/eventually.ts';
import { startCluster, type RedisGroup } from '../../support/redis-group.ts';

type Answer = (error: null, address: string, family: number) => void;

/** A name server that takes longer than a connection takes to end. */
await vi.hoisted(async () => {
  const { default: dns } = await import('node:dns');
  const { lookup } = dns;
  // The client keeps the function that it finds when it is loaded.
  dns.lookup = ((...asked: Parameters<typeof lookup>) => {
    if (asked[0] !== 'redis.test') lookup(...asked);
    else setTimeout(asked.at(-1) as unknown as Answer, 150, null, '127.0.0.1', 4);
  }) as typeof lookup;
});

let group: RedisGroup;
beforeAll(async () => {
  group = await startCluster();
});
afterAll(() => group.stop());

it('reaches a cluster again whose names are looked up slowly while a member stands still', async () => {
  const url = group.url.replaceAll('127.0.0.1', 'redis.test');
  const store = await openRedisStore({ url, catalog: 'c' });
  await eventually(() => store.commit([], [{ key: 'a', value: Buffer.from('x') }]));
  const resume = await group.standStill();
  await expect(store.get('a')).rejects.toMatchObject({ kind: 'unavailable' });
  // Its replica takes over.
  await eventually(() => store.get('a'));
  resume();
  await store.close();
});
