import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { EmbeddedFile } from '../../src/store/embedded/file.ts';
import { RedisServer } from '../support/redis-server.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { send } from './http.ts';
import { goodRows } from './table-bodies.ts';

let service: Service;
let redis: RedisServer | undefined;

afterEach(async () => {
  await service.stop();
  await redis?.stop();
  redis = undefined;
});

const kinds = ['the embedded store', 'Redis'] as const;
type Kind = (typeof kinds)[number];

/** Changes what the store holds, as rot or another program would. */
interface Tampering {
  /** The first key that begins so. */
  readonly key: (start: string) => Promise<string>;
  readonly flip: (key: string) => Promise<void>;
  readonly remove: (key: string) => Promise<void>;
}

async function start(kind: Kind): Promise<Tampering> {
  if (kind === 'Redis') redis = await RedisServer.start();
  const flags = redis === undefined ? [] : ['--redis', redis.url];
  service = await Service.start({ flags });
  for (const name of ['one', 'two']) {
    const created = await send(service.url, `POST /v1/table/${name}/create`, { body: goodRows });
    expect(created.status).toBe(200);
    const tag = { tag: 'kept', version: 1 };
    const tagged = await send(service.url, `POST /v1/table/${name}/tags/create`, { body: tag });
    expect(tagged.status).toBe(200);
  }
  return redis === undefined ? inFile(join(service.data, 'private', 'store')) : inRedis(redis);
}

function inFile(folder: string): Tampering {
  const change = async <Result>(work: (file: EmbeddedFile) => Result): Promise<Result> => {
    const file = new EmbeddedFile(folder);
    const result = await file.transact(() => work(file));
    await file.close();
    return result;
  };
  return {
    key: (start) =>
      change(({ tables: { values } }) => {
        const [key] = [...values.getKeys({ start: Buffer.from(start), limit: 1 })];
        return Buffer.from(key!).toString();
      }),
    flip: (key) =>
      change(({ tables: { values } }) => {
        const value = Buffer.from(values.get(Buffer.from(key))!);
        value[20]! ^= 1;
        values.putSync(Buffer.from(key), value);
      }),
    remove: async (key) => {
      await change(({ tables: { values } }) => values.removeSync(Buffer.from(key)));
    },
  };
}

function inRedis(server: RedisServer): Tampering {
  const part = (name: string) => `{arrowgate:default}:${name}`;
  return {
    key: async (start) => {
      const found = await server.command(
        'ZRANGEBYLEX',
        part('keys'),
        `[${start}`,
        '+',
        'LIMIT',
        '0',
        '1',
      );
      return String((found as readonly unknown[])[0]);
    },
    flip: async (key) => {
      const script = `local v = redis.call('HGET', KEYS[1], ARGV[1])
        return redis.call('HSET', KEYS[1], ARGV[1], string.sub(v, 1, 20) .. '~' .. string.sub(v, 22))`;
      await server.command('EVAL', script, '1', part('values'), key);
    },
    remove: async (key) => {
      await server.command('ZREM', part('keys'), key);
      await server.command('HDEL', part('values'), key);
    },
  };
}

const DAMAGED = {
  status: 500,
  json: {
    code: 18,
    error:
      'a record of the catalog is damaged: the log of the service names it, and catalog verify finds all of them',
  },
};

function tags(table: string) {
  return send(service.url, `POST /v1/table/${table}/tags/list`, { body: {} });
}

async function storePart() {
  const { status, json } = await send(service.url, 'GET /readyz', { key: ADMIN_KEY });
  const parts = json['parts'] as readonly { part: string; why?: string }[];
  return { status, ready: json['status'], why: parts.find(({ part }) => part === 'store')?.why };
}

async function verified(): Promise<{ readonly code: number | null; readonly out: string }> {
  const flags = redis === undefined ? [] : ['--redis', redis.url];
  return service.command('catalog', 'verify', ...flags);
}

describe.each(kinds)('a damaged record in %s', (kind) => {
  it('is answered 500 code 18, and is reported', async () => {
    const store = await start(kind);
    expect(await storePart()).toEqual({ status: 200, ready: 'ok', why: undefined });
    const key = await store.key('G');
    await store.flip(key);
    const answers = await Promise.all(['one', 'two'].map(tags));
    expect(answers.filter(({ status }) => status === 500)).toMatchObject([DAMAGED]);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    const sentence = `the value of the key ${JSON.stringify(key)} does not match its checksum`;
    expect(await storePart()).toEqual({ status: 200, ready: 'degraded', why: sentence });
    const metrics = await send(service.url, 'GET /metrics', { key: ADMIN_KEY });
    expect(metrics.text).toContain('arrowgate_store_damage_total{kind="value"} 1');
    const lines = service.errors
      .split('\n')
      .filter((line) => line.includes(JSON.stringify(sentence).slice(1, -1)));
    expect(lines).toHaveLength(1);
    const { code, out } = await verified();
    expect([code, out]).toEqual([1, expect.stringContaining(`store: ${sentence}`)]);
  });
});

describe.each(kinds)('a record that is gone from %s', (kind) => {
  it('is found at the start, and is not taken for absent', async () => {
    const store = await start(kind);
    const key = await store.key('G');
    await service.end();
    await store.remove(key);
    await service.restart();
    const why = 'the keys that begin with "G" do not match their digest (1 keys, 2 expected)';
    expect(await storePart()).toEqual({ status: 200, ready: 'degraded', why });
    for (const table of ['one', 'two']) expect(await tags(table)).toMatchObject(DAMAGED);
    const created = { tag: 'new', version: 1 };
    const refused = await send(service.url, 'POST /v1/table/one/tags/create', { body: created });
    expect(refused).toMatchObject(DAMAGED);
    const read = await send(service.url, 'POST /v1/table/one/count_rows', { body: {} });
    expect(read.status).toBe(200);
    const inserted = await send(service.url, 'POST /v1/table/one/insert', { body: goodRows });
    expect(inserted.status).toBe(200);
    const { code, out } = await verified();
    expect([code, out]).toEqual([1, expect.stringContaining(JSON.stringify(key))]);
    if (kind === 'the embedded store') expect(out).toContain(`store: ${why}`);
  });
});

describe('the number of the last change in Redis', () => {
  const sequence = '{arrowgate:default}:sequence';
  const tagged = () =>
    send(service.url, 'POST /v1/table/one/tags/create', { body: { tag: 'new', version: 1 } });

  it.each(['gone', 'lower'])('is restored from the journal if it is %s', async (how) => {
    await start('Redis');
    const before = Number(await redis!.command('GET', sequence));
    if (how === 'gone') await redis!.command('DEL', sequence);
    else await redis!.command('SET', sequence, String(before - 2));
    // A process that made later changes builds nothing on it.
    expect((await tagged()).status).toBe(503);
    await service.end();
    await service.restart();
    expect(Number(await redis!.command('GET', sequence))).toBeGreaterThanOrEqual(before);
    expect((await tagged()).status).toBe(200);
    expect(await verified()).toMatchObject({ code: 0 });
  });

  it('is reported by a verification if it is higher', async () => {
    await start('Redis');
    await redis!.command('INCRBY', sequence, '5');
    expect((await tagged()).status).toBe(200);
    expect(await verified()).toMatchObject({ code: 1, out: expect.stringContaining('journal') });
  });
});
