import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import { storeSuite } from '../../conformance/store.ts';
import { storeDamageSuite } from '../../conformance/store-damage.ts';
import { eventually, waitUntil } from '../../support/eventually.ts';
import { DURABLE, RedisServer } from '../../support/redis-server.ts';
import { freshRedisStore } from '../../support/redis-store.ts';
import { SilentProxy } from '../../support/silent-proxy.ts';

let server: RedisServer;

beforeAll(async () => {
  server = await RedisServer.start();
});

afterAll(() => server.stop());

storeSuite('the Redis store', () => freshRedisStore(server.url));
storeDamageSuite('the Redis store', () => freshRedisStore(server.url));

async function put(store: Store, key: string, value: string) {
  return store.commit([], [{ key, value: Buffer.from(value) }]);
}

const AWAY = { name: 'StoreError', kind: 'unavailable', message: 'Redis does not answer' };

describe('two catalogs in one Redis', () => {
  it('know nothing of each other', async () => {
    const [left, right] = [await freshRedisStore(server.url), await freshRedisStore(server.url)];
    await put(left.store, 'a', '1');
    expect(await right.store.get('a')).toBeUndefined();
    expect(await put(right.store, 'b', '1')).toEqual({ kind: 'committed', sequence: 1n });
    await left.close();
    await right.close();
  });
});

describe('a key of Redis', () => {
  it('that has lost its value is damaged, and is not absent', async () => {
    const under = await freshRedisStore(server.url);
    const { store } = under;
    await store.commit(
      [],
      ['a', 'b'].map((key) => ({ key, value: Buffer.from(key) })),
    );
    await under.bytes.loseValue('a');
    const damaged = {
      kind: 'damaged',
      message: 'the value of the key "a" does not match its checksum',
    };
    await expect(store.get('a')).rejects.toMatchObject(damaged);
    await expect(store.range({ start: 'a', end: 'c', limit: 9 })).rejects.toMatchObject(damaged);
    expect(String(await store.get('b'))).toBe('b');
    const keys = await store.range({ start: 'a', end: 'c', limit: 9, keysOnly: true });
    expect(keys.map(({ key }) => key)).toEqual(['a', 'b']);
    await put(store, 'a', 'new');
    expect(String(await store.get('a'))).toBe('new');
    expect((await store.checkKeys!()).damaged).toEqual([]);
    await under.close();
  });
});

describe('keys of Redis that several processes compare', () => {
  it('are counted by one after the other', async () => {
    const under = await freshRedisStore(server.url);
    const others = [await under.beside(), await under.beside()];
    const entries = Array.from({ length: 5000 }, (_, at) => `k${at}`);
    await under.store.commit(
      [],
      entries.map((key) => ({ key, value: Buffer.from(key) })),
    );
    const all = [under.store, ...others];
    const checks = await Promise.all(all.map((store) => store.checkKeys!()));
    expect(checks).toEqual(all.map(() => ({ keys: 5000, damaged: [] })));
    await Promise.all(others.map((store) => store.close()));
    await under.close();
  });
});

describe.concurrent('a Redis that goes away', () => {
  it('is missed at once, keeps what it acknowledged, and is found again', async () => {
    const redis = await RedisServer.start();
    const under = await freshRedisStore(redis.url);
    const { store } = under;
    expect((await put(store, 'a', '1')).kind).toBe('committed');
    await redis.kill();
    await sleep(100);
    await expect(store.get('a')).rejects.toMatchObject(AWAY);
    await expect(put(store, 'b', '2')).rejects.toMatchObject(AWAY);
    await expect(store.range({ start: 'a', end: 'z', limit: 9 })).rejects.toMatchObject(AWAY);
    await redis.restart();
    await eventually(async () => {
      expect(Buffer.from((await store.get('a'))!).toString()).toBe('1');
    });
    expect(await store.get('b')).toBeUndefined();
    expect(await put(store, 'b', '2')).toEqual({ kind: 'committed', sequence: 2n });
    await under.close();
    await redis.stop();
  });

  it('may be away when the store is opened', async () => {
    const redis = await RedisServer.start();
    await redis.kill();
    const under = await freshRedisStore(redis.url);
    const { store } = under;
    await expect(store.get('a')).rejects.toMatchObject(AWAY);
    await redis.restart();
    await eventually(async () => expect(await store.get('a')).toBeUndefined());
    await under.close();
    await redis.stop();
  });

  it('applies no commit twice and loses none that it acknowledged, however often it is killed', async () => {
    const redis = await RedisServer.start();
    const under = await freshRedisStore(redis.url);
    const { store } = under;
    const stop = new AbortController();
    const outcomes: string[] = [];
    const writer = async () => {
      for (let index = 0; !stop.signal.aborted; index++)
        outcomes.push(await increment(store, index));
    };
    const countOf = (kind: string) => outcomes.filter((outcome) => outcome === kind).length;
    const done = writer();
    for (let round = 1; round <= 5; round++) {
      await waitUntil(() => countOf('committed') > 5 * round);
      await sleep(Math.random() * 100);
      await redis.kill();
      await redis.restart();
    }
    stop.abort();
    await done;
    const [committed, unknown] = [countOf('committed'), countOf('unknown')];
    await eventually(async () => {
      const total = Number(Buffer.from((await store.get('total'))!).toString());
      expect(total).toBeGreaterThanOrEqual(committed);
      expect(total).toBeLessThanOrEqual(committed + unknown);
      expect(await store.changes(100_000)).toHaveLength(total);
    });
    await under.close();
    await redis.stop();
  });

  it('is asked what became of a commit whose answer was lost', async () => {
    const redis = await RedisServer.start();
    const under = await freshRedisStore(redis.url);
    const { store } = under;
    await put(store, 'a', '1');
    redis.pause();
    const commit = put(store, 'a', '2');
    await sleep(3000);
    redis.resume();
    expect(await commit).toEqual({ kind: 'committed', sequence: 2n });
    expect(await store.changes(9)).toHaveLength(2);
    await under.close();
    await redis.stop();
  });

  it('leaves a commit unknown that it had made, though it refuses it when asked again', async () => {
    const redis = await RedisServer.start();
    const proxy = await SilentProxy.before(redis.port);
    const under = await freshRedisStore(`redis://127.0.0.1:${proxy.port}`);
    await put(under.store, 'a', '1');
    proxy.silence('answers');
    proxy.shut = true;
    const committed = put(under.store, 'a', '2');
    const state = () => redis.command('INFO', 'commandstats');
    await eventually(async () => expect(await state()).toMatch(/cmdstat_incr:calls=2,/));
    await redis.command('ACL', 'SETUSER', 'default', '-evalsha');
    proxy.shut = false;
    expect(await committed).toMatchObject({
      kind: 'unknown',
      reason: expect.stringContaining('Redis refused: NOPERM'),
    });
    await redis.command('ACL', 'SETUSER', 'default', '+evalsha');
    await eventually(async () => expect(await under.store.sequence()).toBe(2n));
    await under.close();
    await proxy.close();
    await redis.stop();
  });

  it('leaves a commit unknown when it stays away, and answers others at once', async () => {
    const redis = await RedisServer.start();
    const under = await freshRedisStore(redis.url);
    const { store } = under;
    await put(store, 'a', '1');
    redis.pause();
    const commit = put(store, 'a', '2');
    await sleep(2500);
    await expect(store.get('a')).rejects.toMatchObject(AWAY);
    expect(await commit).toMatchObject({ kind: 'unknown' });
    redis.resume();
    await eventually(async () => expect(await store.get('a')).toBeDefined());
    await under.close();
    await redis.stop();
  });
});

describe.concurrent('a Redis that may lose what it acknowledged', () => {
  const weak: readonly [string, readonly string[], string][] = [
    ['no file', ['--appendonly', 'no'], 'it keeps no append-only file (appendonly no)'],
    [
      'a file that is written later',
      ['--appendonly', 'yes', '--appendfsync', 'everysec'],
      'it answers before the append-only file is on disk (appendfsync everysec)',
    ],
    [
      'keys that are thrown away',
      [...DURABLE, '--maxmemory-policy', 'allkeys-lru'],
      'it may throw keys away (maxmemory-policy allkeys-lru)',
    ],
    [
      'settings that are not told',
      [...DURABLE, '--rename-command', 'CONFIG', ''],
      'it does not tell its settings',
    ],
  ];

  it.each(weak)('is told: %s', async (_, flags, why) => {
    const redis = await RedisServer.start(flags);
    const under = await freshRedisStore(redis.url);
    const { store } = under;
    expect(await store.weakness()).toBe(`Redis may lose acknowledged changes: ${why}`);
    await under.close();
    await redis.stop();
  });

  it('is not one that writes each change down first', async () => {
    const under = await freshRedisStore(server.url);
    const { store } = under;
    expect(await store.weakness()).toBeUndefined();
    await under.close();
  });
});

/** Adds one to a total; says what became of it. */
async function increment(store: Store, index: number): Promise<string> {
  try {
    const before = await store.get('total');
    const total = before === undefined ? 0 : Number(Buffer.from(before).toString());
    const result = await store.commit(
      [{ kind: 'value', key: 'total', value: before ?? null }],
      [
        { key: 'total', value: Buffer.from(String(total + 1)) },
        { key: `each/${index}`, value: Buffer.from('x') },
      ],
    );
    return result.kind;
  } catch {
    await sleep(5);
    return 'refused';
  }
}

describe.concurrent('the guard of a store on Redis', () => {
  it('is asked again when the server was restarted, before anything is done there', async () => {
    const redis = await RedisServer.start(['--appendonly', 'no']);
    const under = await freshRedisStore(redis.url);
    const { store } = under;
    const sequences: bigint[] = [];
    store.guard(async (view) => {
      sequences.push(await view.sequence());
    });
    await put(store, 'a', '1');
    await redis.command('SAVE');
    await put(store, 'b', '1');
    expect(sequences).toEqual([0n]);
    await redis.kill();
    await redis.restart();
    const put2 = async (): Promise<unknown> => {
      for (;;) {
        const done = await put(store, 'c', '1').catch(() => undefined);
        if (done !== undefined) return done;
        await sleep(20);
      }
    };
    expect(await put2()).toEqual({ kind: 'committed', sequence: 2n });
    expect(sequences).toEqual([0n, 1n]);
    // A server that was told to forget its scripts may be another as well.
    await redis.command('SCRIPT', 'FLUSH');
    await Promise.all([store.get('a'), store.get('b'), put(store, 'd', '1')]);
    expect(sequences).toEqual([0n, 1n, 2n]);
    await under.close();
    await redis.stop();
  });

  it('keeps a commit from a server that lost what others rely on, and says so', async () => {
    const redis = await RedisServer.start(['--appendonly', 'no']);
    const under = await freshRedisStore(redis.url);
    const { store } = under;
    await put(store, 'a', '1');
    store.guard(async (view) => {
      if ((await view.get('a')) === undefined) throw new RangeError('it went back');
    });
    await store.get('a');
    await redis.kill();
    await redis.restart();
    const refused = async (): Promise<unknown> => {
      for (;;) {
        const error: unknown = await put(store, 'b', '1').catch((thrown: unknown) => thrown);
        if (error instanceof RangeError) return error.message;
        await sleep(20);
      }
    };
    expect(await refused()).toBe('it went back');
    expect(await redis.command('DBSIZE')).toBe(0);
    await under.close();
    await redis.stop();
  });
});
