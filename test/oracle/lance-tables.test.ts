import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { casesOf, triesAll } from '../support/cases.ts';
import { Oracle } from './oracle.ts';
import { programOf } from './program.ts';
import { makesVersion, type Statement } from './statement.ts';

const LENGTH = 26;
const programs = casesOf(2, 16);
const seeds = [7000, 7010, 7020, 7030, 7040].slice(0, casesOf(1, 5));

/** What Lance tables have beside their rows. */
const aside = { tag: 2, branch: 2, index: 3, unindex: 1, stats: 1 };
const columns = { add: 1, drop: 1, rename: 1, retype: 1 };

const sorts = [
  [
    'read',
    'lance',
    { query: 8, count: 4, nearest: 12, insert: 2, delete: 1, update: 1, restore: 1, ...aside },
  ],
  [
    'changed',
    'changed lance',
    { query: 4, count: 2, nearest: 2, insert: 6, delete: 4, update: 5, merge: 6, ...columns },
  ],
  [
    'changed and read in their folders',
    'served lance',
    {
      query: 4,
      count: 2,
      nearest: 5,
      insert: 3,
      delete: 2,
      update: 2,
      merge: 3,
      restore: 1,
      compact: casesOf(0, 1),
      ...columns,
      ...aside,
    },
  ],
] as const;

describe.each(sorts)('Lance tables that are %s through the service', (_, sort, mix) => {
  let oracle: Oracle;

  beforeAll(async () => {
    oracle = await Oracle.start(sort);
  });

  afterAll(async () => oracle.stop());

  it.each(seeds)('are answered as LanceDB answers them, from seed %i', async (firstSeed) => {
    const { asked } = await oracle.check({ mix, firstSeed, programs, length: LENGTH });
    expect(asked).toBe(programs * LENGTH);
  });
});

it.runIf(triesAll)('at least 1,000 filters, 200 searches and 200 changes are compared', () => {
  const all = sorts.flatMap(([, , mix]) =>
    seeds.flatMap((first) =>
      Array.from({ length: programs }, (_, at) => programOf(first + at, mix, LENGTH).statements),
    ),
  );
  const statements = all.flat();
  const count = (isCounted: (statement: Statement) => boolean): number =>
    statements.filter(isCounted).length;
  expect(count((each) => 'filter' in each && each.filter !== null)).toBeGreaterThan(1000);
  expect(count(({ kind }) => kind === 'nearest')).toBeGreaterThan(200);
  expect(count(makesVersion)).toBeGreaterThan(200);
});
