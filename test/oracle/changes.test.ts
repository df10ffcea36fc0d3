import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Oracle } from './oracle.ts';
import { casesOf } from '../support/cases.ts';

let oracle: Oracle;

beforeAll(async () => {
  oracle = await Oracle.start();
});

afterAll(async () => oracle.stop());

describe('random changes of random tables', () => {
  const rows = { insert: 3, delete: 3, update: 5, merge: 5 };
  const columns = { add: 1, drop: 1, rename: 1, retype: 1 };
  const programs = casesOf(5, 10);
  const mix = { ...rows, ...columns, restore: 1, query: 2, count: 1 };

  it.each([5000, 5010, 5020, 5030].slice(0, casesOf(2, 4)))(
    'do what they do in LanceDB, from seed %i',
    async (firstSeed) => {
      const { asked } = await oracle.check({ mix, firstSeed, programs, length: 22 });
      expect(asked).toBe(programs * 22);
    },
    180_000,
  );
});
