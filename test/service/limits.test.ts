import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { childrenOf } from '../support/processes.ts';
import { RedisServer } from '../support/redis-server.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { ARROW_STREAM, send, type Reply } from './http.ts';
import { goodRows } from './table-bodies.ts';

const LIMITS = `limits:
  - { name: one, operations: [append], per: all, concurrency: 1, on_store_failure: closed }
  - { name: few, operations: [TableExists], rate: 9/h }
`;

const cleanups: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

/** A service with the limits and a table. */
async function start(...flags: readonly string[]): Promise<Service> {
  const service = await Service.start({ flags, limits: LIMITS });
  cleanups.push(() => service.stop());
  const created = await send(service.url, 'POST /v1/table/t/create', { body: goodRows });
  expect(created.status).toBe(200);
  return service;
}

/** Begins to insert rows and never comes to their end: what is told to send them has the only slot. */
async function hang(url: string): Promise<void> {
  const outgoing = request(new URL('/v1/table/t/insert', url), {
    method: 'POST',
    agent: false,
    headers: { 'x-api-key': ADMIN_KEY, expect: '100-continue', ...ARROW_STREAM },
  });
  outgoing.on('error', () => undefined);
  outgoing.flushHeaders();
  await once(outgoing, 'continue');
  outgoing.write(goodRows.subarray(0, 100));
  cleanups.push(async () => outgoing.destroy());
}

function insert(url: string): Promise<Reply> {
  return send(url, 'POST /v1/table/t/insert', { body: goodRows });
}

/** Counters in use, as the console shows them. */
async function levels(url: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const { json } = await send(url, 'GET /console/api/limits/levels');
  return json['levels'] as readonly Readonly<Record<string, unknown>>[];
}

async function auditLogs({ data }: Service): Promise<number> {
  return (await readdir(join(data, 'private', 'audit'))).length;
}

describe('a slot whose process was killed', () => {
  it('comes back to the other gateways on its Redis; while Redis hangs, nothing passes', async () => {
    const redis = await RedisServer.start();
    cleanups.push(() => redis.stop());
    const first = await start('--redis', redis.url);
    const second = await Service.beside(first, { flags: ['--redis', redis.url] });
    cleanups.push(() => second.end('SIGKILL'));
    await hang(first.url);
    expect((await insert(second.url)).status).toBe(429);
    expect(await levels(second.url)).toMatchObject([
      { limit: 'one', per: 'all', value: 'all', left: null, in_flight: 1, concurrency: 1 },
    ]);
    await first.end('SIGKILL');
    await eventually(async () => expect((await insert(second.url)).status).toBe(200));
    redis.pause();
    const refused = await insert(second.url);
    const unread = await send(second.url, 'GET /console/api/limits/levels');
    expect([unread.status, unread.json['error']]).toEqual([
      503,
      'the counters of limits cannot be read now',
    ]);
    redis.resume();
    expect([refused.status, refused.json['error']]).toEqual([
      503,
      'the limit one cannot be checked now, so its requests are refused',
    ]);
  });
});

describe('wrong credentials at two gateways of one Redis', () => {
  it('keep their address away from both, at the first that is sent to the other', async () => {
    const redis = await RedisServer.start();
    cleanups.push(() => redis.stop());
    const flags = ['--redis', redis.url];
    const variables = { ARROWGATE_LIMITS_FAILED_IDENTIFICATIONS: '1' };
    const first = await Service.start({ flags, variables });
    cleanups.push(() => first.stop());
    const second = await Service.beside(first, { flags, variables });
    cleanups.push(() => second.end('SIGKILL'));
    const guess = async ({ url }: Service): Promise<number> =>
      (await send(url, 'GET /v1/table', { key: 'a guess' })).status;
    while ((await guess(first)) !== 429);
    expect((await send(second.url, 'GET /v1/table')).status).toBe(200);
    expect(await guess(second)).toBe(401);
    await eventually(async () =>
      expect((await send(second.url, 'GET /v1/table')).status).toBe(429),
    );
  });
});

describe('the processes of a service', () => {
  it('count a limit together, and get the slots back of one that was killed', async () => {
    const service = await start('--processes', '2');
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => send(service.url, 'POST /v1/table/t/exists', { body: {} })),
    );
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(9);
    expect(replies.filter(({ status }) => status === 429)).toHaveLength(11);
    await hang(service.url);
    expect((await insert(service.url)).status).toBe(429);
    expect(await levels(service.url)).toMatchObject([
      { limit: 'few', rule: 'limits.yaml:3', value: 'user:admin', left: 0, burst: 9 },
      { limit: 'one', rule: 'limits.yaml:2', value: 'all', in_flight: 1, concurrency: 1 },
    ]);
    // One after the other, so that somebody always has the port: each process that serves begins a log.
    const begun = await auditLogs(service);
    const [first = 0, second = 0] = await childrenOf(service.pid);
    process.kill(first, 'SIGKILL');
    await eventually(async () => expect(await auditLogs(service)).toBe(begun + 1));
    await eventually(async () => expect([200, 429]).toContain((await insert(service.url)).status));
    process.kill(second, 'SIGKILL');
    await eventually(async () => expect((await insert(service.url)).status).toBe(200));
  });
});

describe('the levels of limits', () => {
  it('are shown for everything that a limit counts', async () => {
    const scopes = 'subject group credential address network operation object all'.split(' ');
    const limits = scopes.map(
      (per) =>
        `  - { name: by-${per}, per: ${per}${per === 'network' ? ', network: /24' : ''}, operations: [TableExists], rate: 9/h }\n`,
    );
    const service = await Service.start({
      limits: `limits:\n${limits.join('')}`,
      variables: { ARROWGATE_LIMITS_FAILED_IDENTIFICATIONS: '2' },
      policy: `p, role:admin, /**, *, allow\np, *, /**, describe, allow\ng, user:ann, group:labs\n`,
    });
    cleanups.push(() => service.stop());
    const key = await service.key('ann');
    const asked = await send(service.url, 'POST /v1/table/prod$t/exists', { body: {}, key });
    expect(asked.status).toBe(404);
    const wrong = await send(service.url, 'POST /v1/table/prod$t/exists', { key: 'a guess' });
    expect(wrong.status).toBe(401);
    const all = await levels(service.url);
    const failed = all.filter(({ limit }) => limit === 'limits.failed_identifications');
    expect(failed).toContainEqual(
      expect.objectContaining({
        rule: 'limits.failed_identifications',
        per: 'address',
        value: 'address:127.0.0.1',
        left: 1,
        burst: 2,
      }),
    );
    const found = all.filter((level) => !failed.includes(level));
    expect(found.every(({ left, burst }) => left === 8 && burst === 9)).toBe(true);
    expect(Object.fromEntries(found.map(({ per, value }) => [per, value]))).toEqual({
      subject: 'user:ann',
      group: 'group:labs',
      credential: `key:${key.split('_')[1]}`,
      address: 'address:127.0.0.1',
      network: 'network:127.0.0.0/24',
      operation: 'operation:TableExists',
      object: 'object:/prod/t',
      all: 'all',
    });
  });
});
