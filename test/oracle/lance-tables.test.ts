import { afterAll, beforeAll, expect, it } from 'vitest';
import { casesOf } from '../support/cases.ts';
import { Oracle } from './oracle.ts';

let oracle: Oracle;

beforeAll(async () => {
  oracle = await Oracle.start('lance');
});

afterAll(async () => oracle.stop());

const programs = casesOf(4, 10);
const mix = { query: 8, count: 4, nearest: 4, insert: 2, delete: 1, update: 1, restore: 1 };

it.each([7000, 7010, 7020, 7030, 7040].slice(0, casesOf(1, 5)))(
  'rows of Lance tables are answered as LanceDB answers them, from seed %i',
  async (firstSeed) => {
    const { asked } = await oracle.check({ mix, firstSeed, programs, length: 26 });
    expect(asked).toBe(programs * 26);
  },
);
