import { afterAll, beforeAll, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { startCluster, type RedisGroup } from '../support/redis-group.ts';
import { Service } from '../support/service.ts';
import { createTable, groupBody, rowsOf } from './engine-kind.ts';

let group: RedisGroup;
let service: Service;
beforeAll(async () => {
  group = await startCluster();
  service = await Service.start({
    flags: ['--redis', group.url.replaceAll('127.0.0.1', 'redis.test')],
    variables: { NODE_OPTIONS: `--import ${new URL('slow-names.mjs', import.meta.url).href}` },
  });
});
afterAll(async () => {
  await service?.stop();
  await group?.stop();
});

it('reaches a cluster again whose names are looked up slowly after a member stood still', async () => {
  await createTable(service.url, 't', groupBody(0, 1));
  const resume = await group.standStill();
  // Its replica takes over.
  await createTable(service.url, 'u', groupBody(0, 1));
  await eventually(() => rowsOf(service.url, 't'));
  resume();
});
