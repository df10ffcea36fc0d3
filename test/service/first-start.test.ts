import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { RedisServer } from '../support/redis-server.ts';
import { Service } from '../support/service.ts';
import { send } from './http.ts';

const PROCESSES = 2;

let services: readonly Service[] = [];
let redis: RedisServer | undefined;
afterEach(async () => {
  for (const service of services) await service.stop();
  await redis?.stop();
  redis = undefined;
});

describe('processes that start together on a fresh data folder', () => {
  it.each([
    ['the embedded store', false],
    ['Redis', true],
  ])('make one catalog and one administrator key on %s', async (_, onRedis) => {
    redis = onRedis ? await RedisServer.start() : undefined;
    const flags = redis === undefined ? [] : ['--redis', redis.url];
    services = await Service.together(PROCESSES, { flags, adminKey: false });
    const [first] = services;
    const { data } = first!;
    const inner = join(data, 'private');
    const { keys } = JSON.parse(await readFile(join(inner, 'keys.json'), 'utf8'));
    expect(keys).toHaveLength(1);
    const key = (await readFile(join(inner, 'initial-admin-key'), 'utf8')).trim();
    for (const [at, { url }] of services.entries()) {
      const made = await send(url, `POST /v1/namespace/n${at}/create`, { key, body: {} });
      expect(made.status).toBe(200);
    }
    for (const { url } of services) {
      const listed = await send(url, 'GET /v1/namespace/$/list', { key });
      expect(listed.json).toMatchObject({ namespaces: services.map((_, at) => `n${at}`) });
    }
    const left = [...(await readdir(inner)), ...(await readdir(join(data, 'catalog')))];
    expect(left.filter((name) => /\.(tmp|lock|proposed)/.test(name))).toEqual([]);
  });
});
