import { afterEach, describe, expect, it } from 'vitest';
import { send } from '../../service/http.ts';
import { randomOf } from '../../service/random.ts';
import { hasBuckets } from '../../support/bucket-server.ts';
import { casesOf } from '../../support/cases.ts';
import { waitUntil } from '../../support/eventually.ts';
import { BucketLane } from './bucket-lane.ts';

const SEED = Number(process.env['ARROWGATE_TEST_SEED'] ?? Date.now() % 2 ** 31);
const KILLS = casesOf(2, 100);
const FAULTS = casesOf(10, 200);
/** How long a round with everything around it may take, in ms. */
const MILLIS_PER_ROUND = 60_000;

let lane: BucketLane | undefined;
afterEach(async () => {
  await lane?.close();
  lane = undefined;
});

describe.runIf(hasBuckets)(`two gateways on one Redis and one bucket (seed ${SEED})`, () => {
  it(
    'lose nothing and make nothing twice through faults of the bucket, kills and partitions',
    async () => {
      lane = await BucketLane.open(randomOf(SEED));
      while (lane.kills < KILLS || lane.faults < FAULTS || lane.acknowledged === 0) {
        const faults = await lane.round();
        expect(faults, `round ${lane.rounds}, ${lane.last}`).toEqual([]);
      }
      expect(await lane.faultsOfAll(true)).toEqual([]);
      expect(await lane.verify()).toBe('');
    },
    (KILLS * 2 + 10) * MILLIS_PER_ROUND,
  );

  it('have everything that was acknowledged back after a Redis that was wiped under writers', async () => {
    lane = await BucketLane.open(randomOf(SEED + 1));
    const { gateways, redis } = lane;
    for (let times = 0; times < casesOf(1, 5); times += 1) {
      const before = lane.writers.map(({ accounts }) => accounts.acknowledged);
      const working = lane.work();
      await waitUntil(
        () =>
          lane?.writers.every(({ accounts }, at) => accounts.acknowledged > before[at]! + 3) ??
          false,
      );
      await redis.command('FLUSHALL');
      await working.stop();
      for (const { service } of gateways) {
        const { status, json } = await send(service.url, 'GET /v1/namespace/$/list');
        expect([status, json['code']]).toEqual([503, 17]);
      }
      const { code, out, err } = await gateways[times % 2]!.service.command(
        'catalog',
        'rebuild',
        '--json',
      );
      expect([code, err]).toEqual([0, '']);
      expect(JSON.parse(out)).toMatchObject({ restored: 'all', lost: [] });
      expect(await lane.faultsOfAll(true)).toEqual([]);
    }
    expect(await lane.verify()).toBe('');
  }, 600_000);
});
