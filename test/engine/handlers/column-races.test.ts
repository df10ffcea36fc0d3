import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Int64, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openEngine, type Engine } from '../../../src/engine/engine.ts';
import { collect } from '../../support/dropped.ts';
import { EngineTable, streamOf } from '../../support/engine-table.ts';
import { ask } from '../../support/request.ts';

let table: EngineTable;
let other: Engine;

const rows = (...values: bigint[]) => ({ n: vectorFromArray(values, new Int64()) });

/** The same request to the other engine, as another process would serve it. */
const elsewhere = async (action: string, body: object) =>
  ask(other.backend, `POST /v1/table/t/${action}`, { body });

beforeEach(async () => {
  table = await EngineTable.open();
  const { data, store } = table.engine;
  other = await openEngine({
    data,
    store,
    locations: { managed: join(data, 'lance'), allowed: [] },
    cacheBytes: 2 ** 20,
    jsonBody: 2 ** 20,
    arrowBody: 2 ** 20,
    page: 1000,
  });
  await table.create(rows(1n, 2n, 3n), rows(4n, 5n), rows(6n));
});

afterEach(async () => {
  await other.close();
  await table.close();
});

describe('schema changes of two processes', () => {
  it('all take effect, each over what the other left, and leave no file behind', async () => {
    await Promise.all([
      table.post('add_columns', { new_columns: [{ name: 'a', expression: 'n + 1' }] }),
      elsewhere('add_columns', { new_columns: [{ name: 'b', expression: 'n + 2' }] }),
      elsewhere('delete', { predicate: 'n = 2' }),
      table.post('add_columns', { new_columns: [{ name: 'c', expression: 'n * 10' }] }),
      elsewhere('alter_columns', { alterations: [{ path: 'n', data_type: { type: 'int32' } }] }),
    ]);
    expect(await table.post('describe')).toMatchObject({ version: 8 });
    const found = await table.rows({ columns: ['n', 'a', 'b', 'c'] });
    expect(found.map(({ n, a, b, c }) => [n, Number(a), Number(b), Number(c)])).toEqual(
      [1, 3, 4, 5, 6].map((n) => [n, n + 1, n + 2, n * 10]),
    );
    await onlyFilesInUse();
  });

  it('leaves no file of an addition that is refused when it is computed again', async () => {
    const outcomes = await Promise.allSettled([
      table.post('add_columns', { new_columns: [{ name: 'x', expression: 'n + 1' }] }),
      elsewhere('add_columns', { new_columns: [{ name: 'x', expression: 'n + 2' }] }),
    ]);
    expect(outcomes.map(({ status }) => status).toSorted((a, b) => a.localeCompare(b))).toEqual([
      'fulfilled',
      'rejected',
    ]);
    expect(outcomes.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { row: { code: 20 }, message: 'the table already has a column "x"' },
    });
    await onlyFilesInUse();
  });

  it('keeps the files of rows that come while versions are removed', async () => {
    await Promise.all([
      table.send('insert', { body: streamOf(rows(7n)) }),
      elsewhere('version/delete', { ranges: [{ start_version: 0, end_version: -1 }] }),
      table.post('update', { updates: [['n', 'n + 100']], predicate: 'n = 1' }),
      elsewhere('version/delete', { ranges: [{ start_version: 0, end_version: -1 }] }),
    ]);
    const found = await table.column('n');
    expect(found.toSorted((a, b) => Number(a) - Number(b))).toEqual([2n, 3n, 4n, 5n, 6n, 7n, 101n]);
    await onlyFilesInUse();
  });
});

/** Once every older version is gone, the rows still read, and a rewrite of them leaves nothing else. */
async function onlyFilesInUse(): Promise<void> {
  const before = await table.rows();
  const everything = { ranges: [{ start_version: 0, end_version: -1 }] };
  await table.post('version/delete', everything);
  expect(await table.rows()).toEqual(before);
  await table.post('delete', { predicate: 'true' });
  await table.post('version/delete', everything);
  // Not alone: whether the other process reads what was removed, a collection finds out.
  await collect(table.engine);
  const root = join(table.engine.data, 'tables');
  const [folder] = await readdir(root);
  expect(await readdir(join(root, folder!, 'data'))).toEqual([]);
  expect(await readdir(join(root, folder!, 'versions'))).toHaveLength(1);
}
