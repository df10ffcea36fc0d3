import { afterEach, describe, expect, it } from 'vitest';
import { randomOf } from '../service/random.ts';
import { casesOf } from '../support/cases.ts';
import { engineKind } from './engine-kind.ts';
import { Lane } from './lane.ts';
import { managedKind } from './managed-kind.ts';

const SEED = Number(process.env['ARROWGATE_TEST_SEED'] ?? Date.now() % 2 ** 31);
/** Longer than every wait for another gateway. */
const STOPPED_MILLIS = 20_000;

const lanes: Lane[] = [];
afterEach(async () => {
  for (const lane of lanes.splice(0)) await lane.close();
});

/** Stops gateways of a lane again and again; ends at the first fault. */
async function run(redis: boolean, seed: number): Promise<void> {
  const kinds = [engineKind, managedKind];
  const rounds = casesOf(1, 12);
  const lane = await Lane.open({ redis, kinds, gateways: 2, random: randomOf(seed) });
  lanes.push(lane);
  while (lane.stops < rounds) {
    const faults = await lane.stopRound(STOPPED_MILLIS);
    expect(faults, `stop ${lane.stops}, ${lane.last}`).toEqual([]);
  }
  expect(await lane.unrecorded()).toEqual([]);
  expect(await lane.verify()).toBe('');
  const acknowledged = lane.writers.map(({ accounts }) => accounts.acknowledged);
  expect(Math.max(...acknowledged)).toBeGreaterThan(0);
}

describe('one of two gateways that is stopped for 20 s, at a step of a commit or at any moment', () => {
  it(`lets requests to the other end, and loses nothing, on both stores (seed ${SEED})`, async () => {
    await Promise.all([run(false, SEED), run(true, SEED + 1)]);
  }, 1_200_000);
});
