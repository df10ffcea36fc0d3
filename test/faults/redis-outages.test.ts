import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { range } from '../service/insert-ledger.ts';
import { send } from '../service/http.ts';
import { randomOf } from '../service/random.ts';
import { RedisServer } from '../support/redis-server.ts';
import { Service } from '../support/service.ts';
import { engineKind } from './engine-kind.ts';
import { managedBatchKind } from './managed-batch-kind.ts';
import { managedKind } from './managed-kind.ts';
import { Writers } from './writers.ts';
import { casesOf } from '../support/cases.ts';
import { waitUntil } from '../support/eventually.ts';

const SEED = Number(process.env['ARROWGATE_TEST_SEED'] ?? Date.now() % 2 ** 31);
const WRITERS = 4;
const ROUNDS = casesOf(1, 2);

let redis: RedisServer;
let service: Service;
beforeEach(async () => {
  redis = await RedisServer.start();
  service = await Service.start({ flags: ['--redis', redis.url] });
});
afterEach(async () => {
  await service.stop();
  await redis.stop();
});

/** What happens to Redis, and to the gateway, while writers are at work. `millis` is how long it lasts. */
const outages: Readonly<Record<string, (millis: number) => Promise<void>>> = {
  async 'is killed and started again'(millis) {
    await redis.kill();
    await sleep(millis);
    await redis.restart();
  },
  async 'is killed and is back at once'() {
    await redis.kill();
    await redis.restart();
  },
  async 'is paused'(millis) {
    redis.pause();
    await sleep(millis);
    redis.resume();
  },
  async 'is paused while the gateway is killed'(millis) {
    redis.pause();
    await sleep(millis / 4);
    await service.end('SIGKILL');
    redis.resume();
    await service.restart();
  },
  async 'is killed with the gateway'() {
    await Promise.all([redis.kill(), service.end('SIGKILL')]);
    await redis.restart();
    await service.restart();
  },
};

/** Waits until the writers got something done, however slow the machine is. */
async function acknowledgedMore({ accounts }: Writers): Promise<void> {
  const before = accounts.acknowledged;
  await waitUntil(() => accounts.acknowledged > before);
}

/** Asks until the table can be read: nobody may have to start anything again. */
async function served(): Promise<void> {
  for (let attempt = 0; attempt < 400; attempt++) {
    const { status } = await send(service.url, 'POST /v1/table/t/count_rows', { body: {} });
    if (status === 200) return;
    await sleep(50);
  }
  throw new Error('the table is not served again');
}

async function expectAway(): Promise<void> {
  for (const line of [
    'POST /v1/table/t/count_rows',
    'POST /v1/table/t/describe',
    'POST /v1/table/t/version/list',
    'POST /v1/namespace/ns/create',
  ]) {
    const { status, json } = await send(service.url, line, { body: {} });
    expect([line, status, json['code']]).toEqual([line, 503, 17]);
  }
}

describe(`writers while Redis (seed ${SEED})`, () => {
  it.each(Object.entries(outages))('%s lose nothing and double nothing', async (_, outage) => {
    const random = randomOf(SEED);
    const writers = new Writers(engineKind, 't', random);
    await writers.create(service.url);
    for (let round = 0; round < ROUNDS; round++) {
      const stop = new AbortController();
      const working = range(WRITERS).map(() => writers.work(service.url, stop.signal));
      await acknowledgedMore(writers);
      await sleep(random(200));
      await outage(200 + random(1500));
      await served();
      await sleep(100);
      stop.abort();
      await Promise.all(working);
      // What a dead gateway had sent may come to Redis late.
      expect(await writers.faults(service.url, false)).toEqual([]);
    }
    await sleep(200);
    expect(await writers.faults(service.url, true)).toEqual([]);
  });

  it.each([
    ['with the gateway running', false],
    ['with the gateway killed', true],
  ])('goes back to an older copy keep all that was acknowledged, %s', async (_, killed) => {
    const random = randomOf(SEED);
    const kinds = [engineKind, managedKind, managedBatchKind];
    const all = kinds.map((kind, at) => new Writers(kind, `t${at}`, random));
    for (const writers of all) await writers.create(service.url);
    const stop = new AbortController();
    const begin = () => all.map((writers) => writers.work(service.url, stop.signal));
    let working = begin();
    await Promise.all(all.map(acknowledgedMore));
    const copy = await redis.copy();
    for (let times = 0; times < casesOf(1, 3); times++)
      await Promise.all(all.map(acknowledgedMore));
    if (killed) await service.end('SIGKILL');
    await redis.goBack(copy);
    if (killed) {
      await Promise.all(working);
      await service.restart();
      working = begin();
    }
    await Promise.all(all.map(acknowledgedMore));
    stop.abort();
    await Promise.all(working);
    const told: string[] = [];
    for (const writers of all) told.push(...(await writers.faults(service.url, true)));
    expect(told).toEqual([]);
  });

  it('is wiped get no answer but that it is not this catalog, and everything back by a rebuild', async () => {
    const writers = new Writers(engineKind, 't', randomOf(SEED));
    await writers.create(service.url);
    const stop = new AbortController();
    const working = range(WRITERS).map(() => writers.work(service.url, stop.signal));
    await acknowledgedMore(writers);
    await redis.command('FLUSHALL');
    await sleep(200);
    await expectAway();
    stop.abort();
    await Promise.all(working);
    await service.end('SIGKILL');
    await service.restart();
    await expectAway();
    await service.end();
    const { code, err } = await service.command('catalog', 'rebuild', '--redis', redis.url);
    expect([code, err]).toEqual([0, expect.anything()]);
    await service.restart();
    expect(await writers.faults(service.url, true)).toEqual([]);
  });
});
