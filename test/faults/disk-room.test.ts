import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { range } from '../service/insert-ledger.ts';
import { randomOf } from '../service/random.ts';
import { openLittleDisk, type LittleDisk } from '../support/little-disk.ts';
import { RedisServer } from '../support/redis-server.ts';
import { Service } from '../support/service.ts';
import { engineKind } from './engine-kind.ts';
import { managedBatchKind } from './managed-batch-kind.ts';
import { managedKind } from './managed-kind.ts';
import { Writers } from './writers.ts';
import { casesOf } from '../support/cases.ts';
import { waitUntil } from '../support/eventually.ts';

const SEED = Number(process.env['ARROWGATE_TEST_SEED'] ?? Date.now() % 2 ** 31);
const WRITERS = 3;
const ROUNDS = casesOf(1, 2);

let disk: LittleDisk;
let service: Service;
let redis: RedisServer | undefined;
afterEach(async () => {
  await service.stop();
  await redis?.stop();
  redis = undefined;
  await disk.close();
});

/** Waits until every table got more changes, so that the service does what it did before. */
async function goOn(writers: readonly Writers[], stop: AbortSignal): Promise<void> {
  const before = writers.map(({ accounts }) => accounts.acknowledged);
  const waits = () => writers.some(({ accounts }, at) => accounts.acknowledged === before[at]);
  await waitUntil(() => stop.aborted || !waits());
}

describe('a disk without room', () => {
  it.each([
    ['the embedded store', false],
    ['Redis', true],
  ])(
    `takes no change, keeps all and leaves nothing behind on %s (seed ${SEED})`,
    async (_, onRedis) => {
      disk = await openLittleDisk();
      redis = onRedis ? await RedisServer.start() : undefined;
      const flags = redis === undefined ? [] : ['--redis', redis.url];
      service = await Service.start({ within: disk.folder, flags });
      const random = randomOf(SEED);
      const kinds = [engineKind, managedKind, managedBatchKind];
      const writers = kinds.map((kind, at) => new Writers(kind, `t${at}`, random));
      for (const each of writers) await each.create(service.url);
      const stop = new AbortController();
      const working = Promise.all(
        writers.flatMap((each) => range(WRITERS).map(() => each.work(service.url, stop.signal))),
      );
      try {
        for (let round = 0; round < ROUNDS; round++) {
          await Promise.race([goOn(writers, stop.signal), working]);
          await disk.fill(service);
          await sleep(200 + random(400));
          await disk.free(service);
        }
        // The same writers continue, and nobody has started anything again.
        await Promise.race([goOn(writers, stop.signal), working]);
      } finally {
        stop.abort();
      }
      await working;
      const told: string[] = [];
      for (const each of writers) told.push(...(await each.faults(service.url, true)));
      expect(told).toEqual([]);
      await service.end();
      // Of changes that nobody can say of whether they were made, files may be left.
      const collected = await service.command('catalog', 'gc', '--older-than', '1ms', ...flags);
      expect(collected).toMatchObject({ code: 0, err: '' });
      const verified = await service.command('catalog', 'verify', '--json', ...flags);
      expect(JSON.parse(verified.out)).toMatchObject({ findings: [], orphans: [] });
    },
    120_000,
  );
});
