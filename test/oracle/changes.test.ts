import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Oracle } from './oracle.ts';

let oracle: Oracle;

beforeAll(async () => {
  oracle = await Oracle.start();
});

afterAll(async () => oracle.stop());

describe('random changes of random tables', () => {
  const rows = { insert: 3, delete: 3, update: 5, merge: 5 };
  const columns = { add: 1, drop: 1, rename: 1, retype: 1 };
  const mix = { ...rows, ...columns, restore: 1, query: 2, count: 1 };

  it.each([5000, 5010, 5020, 5030])(
    'do what they do in LanceDB, from seed %i',
    async (firstSeed) => {
      const { asked } = await oracle.check({ mix, firstSeed, programs: 10, length: 22 });
      expect(asked).toBe(220);
    },
    180_000,
  );
});
