import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Oracle } from './oracle.ts';
import { casesOf } from '../support/cases.ts';

let oracle: Oracle;

beforeAll(async () => {
  oracle = await Oracle.start();
});

afterAll(async () => oracle.stop());

describe('random queries of random tables', () => {
  const programs = casesOf(6, 10);
  const mix = { query: 8, count: 4, nearest: 4, insert: 2, delete: 1 };

  it.each([1000, 1010, 1020, 1030, 1040].slice(0, casesOf(2, 5)))(
    'are answered as LanceDB answers them, from seed %i',
    async (firstSeed) => {
      const { asked } = await oracle.check({ mix, firstSeed, programs, length: 26 });
      expect(asked).toBe(programs * 26);
    },
    180_000,
  );
});
