import { afterEach, describe, expect, it } from 'vitest';
import { randomOf } from '../service/random.ts';
import { range } from '../service/insert-ledger.ts';
import { eventually, waitUntil } from '../support/eventually.ts';
import { startCluster, startSentinels, type RedisGroup } from '../support/redis-group.ts';
import { Service } from '../support/service.ts';
import { engineKind, rowsOf } from './engine-kind.ts';
import { managedBatchKind } from './managed-batch-kind.ts';
import { managedKind } from './managed-kind.ts';
import { Writers } from './writers.ts';

const SEED = Number(process.env['ARROWGATE_TEST_SEED'] ?? Date.now() % 2 ** 31);
/** Changes of each table that the replica never receives. */
const LOST = 5;

let group: RedisGroup | undefined;
let services: Service[] = [];
afterEach(async () => {
  await Promise.all(services.map((service) => service.end()));
  for (const service of services) await service.stop();
  services = [];
  await group?.stop();
  group = undefined;
});

async function acknowledgedMore({ accounts }: Writers, count: number): Promise<void> {
  const before = accounts.acknowledged;
  await waitUntil(() => accounts.acknowledged >= before + count);
}

describe(`a master of Redis that dies before its replica has the last changes (seed ${SEED})`, () => {
  it.each([
    ['watched by three sentinels', startSentinels],
    ['in a cluster of three masters', startCluster],
  ])(
    '%s, loses nothing and doubles nothing of two gateways',
    async (_, startGroup) => {
      group = await startGroup();
      const first = await Service.start({ flags: ['--redis', group.url] });
      services.push(first);
      services.push(await Service.beside(first, { flags: ['--redis', group.url] }));
      const random = randomOf(SEED);
      const kinds = [engineKind, managedKind, managedBatchKind];
      const all = kinds.map((kind, at) => new Writers(kind, `t${at}`, random));
      for (const writers of all) await writers.create(first.url);
      const stop = new AbortController();
      const working = all.flatMap((writers) =>
        range(4).map((at) => writers.work(services[at % 2]!.url, stop.signal)),
      );
      await Promise.all(all.map((writers) => acknowledgedMore(writers, 1)));
      const lost = await group.failOver(async () => {
        await Promise.all(all.map((writers) => acknowledgedMore(writers, LOST)));
      });
      expect(lost).toBeGreaterThan(0);
      await Promise.all(all.map((writers) => acknowledgedMore(writers, LOST)));
      // The changes may all have gone through one gateway, and each finds the new master by itself.
      for (const { url } of services) await eventually(() => rowsOf(url, 't0'));
      stop.abort();
      await Promise.all(working);
      const faults: string[] = [];
      for (const { url } of services)
        for (const writers of all) faults.push(...(await writers.faults(url, true)));
      expect(faults).toEqual([]);
      const { code, out } = await first.command('catalog', 'verify', '--redis', group.url);
      expect([code, out]).toEqual([0, expect.anything()]);
    },
    240_000,
  );
});
