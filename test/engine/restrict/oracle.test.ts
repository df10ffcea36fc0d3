import { afterEach, describe, expect, it, vi } from 'vitest';
import * as fc from 'fast-check';
import { ThreadPool } from '../../../src/engine/workers/thread-pool.ts';
import { casesOf } from '../../support/cases.ts';
import { row } from './random-requests.ts';
import { compareTable } from './restricted-oracle.ts';
import { masks, RestrictedEngine, restrictionsOf, streamOfRows } from './restricted-table.ts';

const TABLES = casesOf(6, 40);
const LANCE_TABLES = casesOf(2, 40);
const THREAD_TABLES = casesOf(2, 40);
const QUERIES = casesOf(12, 50);
const CHANGES = casesOf(6, 16);
/** All of them take many minutes on a busy machine. */
const timeout = casesOf(300_000, 7_200_000);

let tested: RestrictedEngine | undefined;

afterEach(async () => {
  await tested?.close();
  vi.restoreAllMocks();
});

/** Compares tables with their copies. Names of Lance tables begin with `l`. */
async function compareTables(
  prefix: 't' | 'l',
  count: number,
  options: Parameters<typeof RestrictedEngine.open>[0] = {},
): Promise<void> {
  tested = await RestrictedEngine.open(options, (name) => name.startsWith('l'));
  const first = `${prefix}first`;
  await tested.send(first, 'create', streamOfRows(fc.sample(row(0), 1)), null);
  const hashed = restrictionsOf(
    [],
    masks.filter(({ as }) => as !== 'hidden' && as.mask === 'sha256'),
  );
  await tested.told(first, 'query', { vector: [], filter: 'id < 1' }, hashed);
  await tested.told(first, 'count_rows', { predicate: 'id < 1' }, hashed);
  const secret = await tested.secret();
  const comparison = { tables: tested, secret, queries: QUERIES, changes: CHANGES };
  for (const [at, seed] of fc.sample(fc.integer(), count).entries()) {
    await compareTable(comparison, { table: `${prefix}${at}`, copy: `c${at}`, seed });
  }
}

describe('a restricted table', () => {
  it(
    `answers as a copy without hidden rows and with masked columns: ${TABLES * QUERIES} queries`,
    { timeout },
    () => compareTables('t', TABLES),
  );

  it(`does so as a Lance table: ${LANCE_TABLES * QUERIES} queries`, { timeout }, () =>
    compareTables('l', LANCE_TABLES),
  );

  it.each(['t', 'l'] as const)(
    `does so where threads scan: ${THREAD_TABLES * QUERIES} queries, %s`,
    { timeout },
    async (prefix) => {
      const run = vi.spyOn(ThreadPool.prototype, 'run');
      // Scans of more bytes than the cache has are work of threads.
      await compareTables(prefix, THREAD_TABLES, { workers: 1, cacheBytes: 0 });
      const kinds = run.mock.calls.flatMap(([task]) =>
        'virtual' in task && task.virtual ? [task.kind] : [],
      );
      expect(new Set(kinds)).toEqual(new Set(['query', 'count']));
      const queries = kinds.filter((kind) => kind === 'query').length;
      process.stdout.write(
        `threads of ${prefix}: ${queries} queries, ${kinds.length - queries} counts\n`,
      );
    },
  );
});
