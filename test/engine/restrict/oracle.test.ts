import { afterAll, beforeAll, describe, it } from 'vitest';
import * as fc from 'fast-check';
import { casesOf } from '../../support/cases.ts';
import { row } from './random-requests.ts';
import { compareTable, type Comparison } from './restricted-oracle.ts';
import { masks, RestrictedEngine, restrictionsOf, streamOfRows } from './restricted-table.ts';

const TABLES = casesOf(6, 40);
const LANCE_TABLES = casesOf(2, 40);
const QUERIES = casesOf(12, 50);
const CHANGES = casesOf(6, 16);

let tested: RestrictedEngine;
let comparison: Comparison;

beforeAll(async () => {
  tested = await RestrictedEngine.open({}, (name) => name.startsWith('l'));
  const first = streamOfRows(fc.sample(row(0), 1));
  await tested.send('first', 'create', first, null);
  const hashed = masks.filter(({ as }) => as !== 'hidden' && as.mask === 'sha256');
  await tested.told('first', 'query', { vector: [] }, restrictionsOf([], hashed));
  const secret = await tested.secret();
  comparison = { tables: tested, secret, queries: QUERIES, changes: CHANGES };
});

afterAll(async () => tested.close());

describe('a restricted table', () => {
  it(`answers as a copy without hidden rows and with masked columns: ${TABLES * QUERIES} queries`, async () => {
    const seeds = fc.sample(fc.integer(), TABLES);
    for (const [at, seed] of seeds.entries()) {
      await compareTable(comparison, { table: `t${at}`, copy: `c${at}`, seed });
    }
  });

  it(`does so as a Lance table: ${LANCE_TABLES * QUERIES} queries`, async () => {
    const seeds = fc.sample(fc.integer(), LANCE_TABLES);
    for (const [at, seed] of seeds.entries()) {
      await compareTable(comparison, { table: `l${at}`, copy: `d${at}`, seed });
    }
  });
});
