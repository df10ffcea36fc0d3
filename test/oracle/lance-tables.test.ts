import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { casesOf } from '../support/cases.ts';
import { Oracle } from './oracle.ts';

const programs = casesOf(4, 10);
const seeds = [7000, 7010, 7020, 7030, 7040].slice(0, casesOf(1, 5));

describe.each([
  [
    'read',
    'lance',
    { query: 8, count: 4, nearest: 4, insert: 2, delete: 1, update: 1, restore: 1 },
  ],
  [
    'changed',
    'changed lance',
    { query: 4, count: 2, nearest: 1, insert: 6, delete: 4, update: 5, merge: 6 },
  ],
] as const)('Lance tables that are %s through the service', (_, sort, mix) => {
  let oracle: Oracle;

  beforeAll(async () => {
    oracle = await Oracle.start(sort);
  });

  afterAll(async () => oracle.stop());

  it.each(seeds)('are answered as LanceDB answers them, from seed %i', async (firstSeed) => {
    const { asked } = await oracle.check({ mix, firstSeed, programs, length: 26 });
    expect(asked).toBe(programs * 26);
  });
});
