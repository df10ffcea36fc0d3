import { afterAll, beforeAll } from 'vitest';
import { freshEngine } from '../../support/engine.ts';
import { RedisServer } from '../../support/redis-server.ts';
import { freshRedisStore } from '../../support/redis-store.ts';
import { batchCommits } from './batch-commits.ts';

let redis: RedisServer;

beforeAll(async () => {
  redis = await RedisServer.start();
});

afterAll(() => redis.stop());

batchCommits('on the embedded store', () => freshEngine());
batchCommits('on Redis', () =>
  freshEngine({}, async () => (await freshRedisStore(redis.url)).store),
);
