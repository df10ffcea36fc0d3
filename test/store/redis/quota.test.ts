import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Quota, QuotaCharge } from '../../../src/store/quota.ts';
import { openRedisQuota } from '../../../src/store/redis/quota.ts';
import { quotaSuite } from '../../conformance/quota.ts';
import { eventually } from '../../support/eventually.ts';
import { RedisServer } from '../../support/redis-server.ts';

let server: RedisServer;

beforeAll(async () => {
  server = await RedisServer.start();
});

afterAll(() => server.stop());

/** Leases that end soon enough for a test. */
const SHORT = { lifeMillis: 600, keepMillis: 100 };

async function fresh(catalog: string = randomUUID(), lease = SHORT): Promise<Quota> {
  return openRedisQuota({ url: server.url, catalog, lease });
}

quotaSuite('counters in Redis', () => fresh());

function ask(key: string, more: Partial<QuotaCharge> = {}): QuotaCharge {
  const rate = { intervalMicros: 8.76e12, burst: 3 };
  return { key, rate, cost: 1, concurrency: null, ...more };
}

const slot = ask('slot', { rate: null, concurrency: 1 });

describe('counters in Redis', () => {
  it('are shared by gateways of one catalog, and by no other', async () => {
    const catalog = randomUUID();
    const [one, two, other] = [await fresh(catalog), await fresh(catalog), await fresh()];
    const answers = [one, two, one, two].map(async (quota) => quota.take([ask('a')]));
    const granted = (await Promise.all(answers)).filter((answer) => answer.granted);
    expect(granted).toHaveLength(3);
    expect((await other.take([ask('a')])).granted).toBe(true);
    await Promise.all([one, two, other].map((quota) => quota.close()));
  });

  it('leave nothing behind: every key ends by itself', async () => {
    const catalog = randomUUID();
    const quota = await fresh(catalog);
    await quota.take([ask('a', { concurrency: 2 })]);
    const keys = (await server.command('KEYS', `{arrowgate:${catalog}}*`)) as string[];
    expect(keys).toHaveLength(3);
    const lives = await Promise.all(keys.map((key) => server.command('PTTL', key)));
    expect(lives.every((life) => Number(life) > 0)).toBe(true);
    await quota.close();
  });

  it('keep a slot as long as its gateway lives, and give it back after that', async () => {
    const catalog = randomUUID();
    const [one, two] = [await fresh(catalog), await fresh(catalog)];
    const silent = await fresh(catalog, { lifeMillis: 600, keepMillis: 1_000_000 });
    const held = await one.take([slot]);
    // Several times as long as a lease lasts that nobody keeps.
    for (let look = 0; look < 20; look++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect((await two.take([slot])).granted).toBe(false);
    }
    held.release();
    // A gateway that says nothing any more is as good as dead.
    await eventually(async () => expect((await silent.take([slot])).granted).toBe(true));
    await eventually(async () => expect((await two.take([slot])).granted).toBe(true));
    await Promise.all([one, two, silent].map((quota) => quota.close()));
  });

  it('give all slots back when they are closed', async () => {
    const catalog = randomUUID();
    const one = await fresh(catalog, { lifeMillis: 1_000_000, keepMillis: 1_000_000 });
    const two = await fresh(catalog);
    await one.take([slot]);
    await one.close();
    expect((await two.take([slot])).granted).toBe(true);
    await two.close();
  });

  it('are found missing while Redis hangs or is away, and come back by themselves', async () => {
    const redis = await RedisServer.start();
    const quota = await openRedisQuota({ url: redis.url, catalog: 'c', lease: SHORT });
    const away = { name: 'StoreError', kind: 'unavailable', message: 'Redis does not answer' };
    const held = await quota.take([slot]);
    redis.pause();
    await expect(quota.take([ask('a')])).rejects.toMatchObject(away);
    expect(quota.fault()).toBe('Redis does not answer, so limits are not counted');
    await expect(quota.take([ask('a')])).rejects.toMatchObject(away);
    held.release();
    redis.resume();
    await eventually(async () => expect((await quota.take([ask('a')])).granted).toBe(true));
    expect(quota.fault()).toBeUndefined();
    await eventually(async () => expect((await quota.take([slot])).granted).toBe(true));
    await redis.kill();
    await expect(quota.take([ask('a')])).rejects.toMatchObject(away);
    await redis.restart();
    await eventually(async () => expect((await quota.take([ask('b')])).granted).toBe(true));
    await quota.close();
    await redis.stop();
  });

  it('learn their script again when Redis has lost it', async () => {
    const quota = await fresh();
    expect((await quota.take([ask('a')])).granted).toBe(true);
    await server.command('SCRIPT', 'FLUSH');
    expect((await quota.take([ask('a')])).granted).toBe(true);
    await quota.close();
  });
});
