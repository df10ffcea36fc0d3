import { afterEach, describe, expect, it } from 'vitest';
import { randomOf } from '../service/random.ts';
import { triesAll } from '../support/cases.ts';
import { foreignKind } from './foreign-kind.ts';
import { Lane } from './lane.ts';
import { libraryBranchKind } from './library-branch-kind.ts';
import { libraryColumnsKind } from './library-columns-kind.ts';
import { libraryIndexKind } from './library-index-kind.ts';
import { libraryRowsKind } from './library-rows-kind.ts';
import { managedTagKind } from './managed-tag-kind.ts';
import type { TableKind } from './table-kind.ts';

/** Kills of gateways and of processes of the Lance library, under writers of Lance tables. */

const SEED = Number(process.env['ARROWGATE_TEST_SEED'] ?? Date.now() % 2 ** 31);
/** How long a kill with everything around it may take, in milliseconds. */
const MILLIS_PER_KILL = 60_000;
/** Longer than a process of the library may say nothing. */
const STOPPED_MILLIS = 20_000;

const CONFIG = 'tables: { format: lance }\nlance: { processes: 2 }\n';

const lanes: Lane[] = [];
afterEach(async () => {
  for (const lane of lanes.splice(0)) await lane.close();
});

async function open(kinds: readonly TableKind[], seed: number, gateways = 1): Promise<Lane> {
  const random = randomOf(seed);
  const lane = await Lane.open({
    redis: false,
    kinds,
    gateways,
    random,
    config: CONFIG,
    library: true,
  });
  lanes.push(lane);
  return lane;
}

/** Nothing is left of the writers but what they know of. */
async function isClean(lane: Lane): Promise<void> {
  expect(await lane.unrecorded()).toEqual([]);
  expect(await lane.verify()).toBe('');
  // Each command starts a process: a sample does without collections.
  if (triesAll) {
    expect(await lane.staged()).toEqual([]);
    expect(await lane.verify()).toBe('');
  }
  expect(acknowledgedIn(lane)).toBeGreaterThan(0);
}

/** The most changes that were acknowledged to the writers of one kind. */
function acknowledgedIn(lane: Lane): number {
  return Math.max(...lane.writers.map(({ accounts }) => accounts.acknowledged));
}

type NamedLane = readonly [writers: string, kinds: () => readonly TableKind[], kills: number];

const lanesOf: readonly NamedLane[] = [
  ['rows, and tags', () => [libraryRowsKind, managedTagKind], 20],
  ['rows of a Lance client', () => [foreignKind(), libraryRowsKind], 20],
  ['columns', () => [libraryColumnsKind], 20],
  ['indices', () => [libraryIndexKind], 20],
  ['branches, restored versions', () => [libraryBranchKind], 20],
];

/** Two kills in one of the lanes, another with each seed. */
function sampleOf(seed: number): NamedLane {
  const [writers, kinds] = lanesOf[seed % lanesOf.length]!;
  return [writers, kinds, 2];
}

describe('a gateway or the library that is killed again and again under writers', () => {
  it.each(triesAll ? lanesOf : [sampleOf(SEED)])(
    `of %s loses nothing, makes nothing twice and shows nothing by halves (seed ${SEED})`,
    async (_, kinds, kills) => {
      const lane = await open(kinds(), SEED);
      // On a busy machine a few kills may all come before the first change is made.
      while (lane.kills < kills || acknowledgedIn(lane) === 0) {
        const faults = await lane.round();
        expect(faults, `kill ${lane.kills}, ${lane.last}`).toEqual([]);
      }
      await isClean(lane);
    },
    20 * MILLIS_PER_KILL,
  );
});

describe('processes of the library that are stopped', () => {
  it.runIf(triesAll)(
    `are replaced, and nothing is lost (seed ${SEED})`,
    async () => {
      const lane = await open([libraryRowsKind, libraryBranchKind], SEED);
      for (let stops = 0; stops < 5; stops++) {
        const faults = await lane.libraryStopRound(STOPPED_MILLIS);
        expect(faults, `stop ${stops}`).toEqual([]);
      }
      await isClean(lane);
    },
    20 * MILLIS_PER_KILL,
  );
});
