import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { RedisServer } from '../support/redis-server.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { send, type Reply } from './http.ts';
import { goodRows } from './table-bodies.ts';

let redis: RedisServer;
let service: Service;

beforeEach(async () => {
  redis = await RedisServer.start();
});

afterEach(async () => {
  await service.stop();
  await redis.stop();
});

async function start(url = redis.url): Promise<void> {
  service = await Service.start({ flags: ['--redis', url] });
}

function count(table = 't'): Promise<Reply> {
  return send(service.url, `POST /v1/table/${table}/count_rows`, { body: {} });
}

function insert(): Promise<Reply> {
  return send(service.url, 'POST /v1/table/t/insert', { body: goodRows });
}

async function ready(): Promise<readonly [number, unknown]> {
  const { status, json } = await send(service.url, 'GET /readyz', {
    headers: { 'x-api-key': ADMIN_KEY },
  });
  return [status, json];
}

function expectAway({ status, json }: Reply): void {
  expect([status, json['code']]).toEqual([503, 17]);
}

describe('the service on Redis', () => {
  it('keeps tables there, and finds them again when both were restarted', async () => {
    await start();
    expect((await send(service.url, 'POST /v1/table/t/create', { body: goodRows })).status).toBe(
      200,
    );
    expect((await insert()).status).toBe(200);
    expect(await ready()).toMatchObject([200, { status: 'ok' }]);
    await service.end('SIGKILL');
    await redis.kill();
    await redis.restart();
    await service.restart();
    expect((await count()).text).toBe('6');
  });

  it('answers 503 at once while Redis is away, and needs no restart afterwards', async () => {
    await start();
    await send(service.url, 'POST /v1/table/t/create', { body: goodRows });
    await redis.kill();
    await sleep(100);
    expectAway(await count());
    expectAway(await insert());
    expectAway(await send(service.url, 'GET /v1/namespace/$/table/list'));
    expect((await ready())[0]).toBe(503);
    await redis.restart();
    await eventually(async () => expect((await count()).text).toBe('3'));
    expect((await insert()).status).toBe(200);
    expect((await count()).text).toBe('6');
  });

  it('may be started before Redis is', async () => {
    await redis.kill();
    await start();
    expectAway(await count());
    expect(await ready()).toMatchObject([
      503,
      {
        parts: expect.arrayContaining([expect.objectContaining({ why: 'Redis does not answer' })]),
      },
    ]);
    await redis.restart();
    await eventually(async () => expect((await count()).status).toBe(404));
  });

  it('says 503, not that nothing exists, when Redis was wiped', async () => {
    await start();
    await send(service.url, 'POST /v1/table/t/create', { body: goodRows });
    await redis.command('FLUSHALL');
    expectAway(await count());
    expectAway(await insert());
    expectAway(await send(service.url, 'POST /v1/namespace/ns/create', { body: {} }));
    expectAway(await send(service.url, 'GET /v1/namespace/$/table/list'));
    const [status, body] = await ready();
    expect([status, JSON.stringify(body)]).toEqual([
      503,
      expect.stringContaining('does not carry'),
    ]);
    await service.end();
    await service.restart();
    expectAway(await count());
  });

  it('is degraded on a Redis that may lose what it acknowledged', async () => {
    await start();
    await redis.command('CONFIG', 'SET', 'appendfsync', 'everysec');
    expect(await ready()).toMatchObject([
      200,
      {
        status: 'degraded',
        parts: expect.arrayContaining([
          {
            part: 'durability',
            status: 'degraded',
            why: expect.stringMatching(/appendfsync everysec/),
          },
        ]),
      },
    ]);
  });
});

describe('the address of Redis', () => {
  it('is refused without repeating its password', async () => {
    await start();
    const { code, err } = await service.command('serve', '--redis', 'redis://:hunter2@h:x');
    expect(code).toBe(2);
    expect(err).toBe(
      'arrowgate: --redis is wrong, but must be redis[s][+sentinel|+cluster]://[user:password@]host[:port]\n',
    );
  });
});
