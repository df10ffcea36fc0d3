import { afterEach, describe, expect, it } from 'vitest';
import { randomOf } from '../service/random.ts';
import { engineKind } from './engine-kind.ts';
import { managedBatchKind } from './managed-batch-kind.ts';
import { managedBranchKind } from './managed-branch-kind.ts';
import { managedKind } from './managed-kind.ts';
import { managedTagKind } from './managed-tag-kind.ts';
import { Lane, type LaneOptions } from './lane.ts';
import type { TableKind } from './table-kind.ts';

/** `ARROWGATE_TEST_KILLS` asks for more; each lane gets a quarter of them. */
const KILLS = Math.ceil(Number(process.env['ARROWGATE_TEST_KILLS'] ?? 24) / 4);
const SEED = Number(process.env['ARROWGATE_TEST_SEED'] ?? Date.now() % 2 ** 31);
/** How long a kill with everything around it may take, in milliseconds. */
const MILLIS_PER_KILL = 20_000;

/** The tables of each lane: of one gateway, and of two. Each kind is on both stores. */
const kinds: Readonly<
  Record<'embedded' | 'redis', readonly [readonly TableKind[], readonly TableKind[]]>
> = {
  embedded: [
    [engineKind, managedKind, managedTagKind],
    [engineKind, managedBatchKind, managedBranchKind],
  ],
  redis: [
    [engineKind, managedBatchKind, managedBranchKind],
    [engineKind, managedKind, managedTagKind],
  ],
};

const lanes: Lane[] = [];
afterEach(async () => {
  for (const lane of lanes.splice(0)) await lane.close();
});

/** Kills the gateways of a lane again and again; stops at the first fault. Gives the steps at which it killed them. */
async function run(options: LaneOptions): Promise<ReadonlySet<string>> {
  const lane = await Lane.open(options);
  lanes.push(lane);
  while (lane.kills < KILLS) {
    const faults = await lane.round();
    expect(faults, `kill ${lane.kills}, ${lane.last}`).toEqual([]);
  }
  expect(await lane.unrecorded()).toEqual([]);
  expect(await lane.verify()).toBe('');
  // Whether each writer gets its turn between kills depends on the machine, too.
  const acknowledged = lane.writers.map(({ accounts }) => accounts.acknowledged);
  expect(Math.max(...acknowledged)).toBeGreaterThan(0);
  return lane.steps;
}

describe('a gateway that is killed again and again, at every step of a commit', () => {
  it.each([
    ['the embedded store', false],
    ['Redis', true],
  ])(
    `loses nothing acknowledged, makes nothing twice and shows nothing by halves on %s (seed ${SEED})`,
    async (_, redis) => {
      const [one, two] = kinds[redis ? 'redis' : 'embedded'];
      const steps = await Promise.all([
        run({ redis, kinds: one, gateways: 1, random: randomOf(SEED) }),
        run({ redis, kinds: two, gateways: 2, random: randomOf(SEED + 1) }),
      ]);
      // Which steps come up depends on the machine; that none did would prove nothing of them.
      expect(steps.flatMap((each) => [...each]).length).toBeGreaterThan(Math.min(KILLS, 40) / 8);
    },
    KILLS * MILLIS_PER_KILL,
  );
});
