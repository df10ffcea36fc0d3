import { Int64, Utf8, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EngineTable, streamOf, type Columns } from '../../support/engine-table.ts';
import { ask } from '../../support/request.ts';
import { jobIdOf, settled } from '../../support/jobs.ts';

let table: EngineTable;
const faults: unknown[] = [];

beforeEach(async () => {
  table = await EngineTable.open();
  faults.length = 0;
});

afterEach(async () => {
  await table.close();
  expect(faults).toEqual([]);
});

const startWork = () => table.engine.startWork((error) => faults.push(error));
const add = (name: string, computed: string) =>
  table.post('add_columns', { new_columns: [{ name, computed }] });
const begin = async (body: object) => jobIdOf(await table.post('backfill_column', body));

describe('a backfill', () => {
  it('fills a computed column of every row as one version, whatever its fragments', async () => {
    await table.create(partOf(0), partOf(1), partOf(2));
    await table.post('delete', { predicate: 'n = 5' });
    expect(await add('twice', 'n * 2')).toEqual({ version: 5 });
    expect(new Set(await table.column('twice'))).toEqual(new Set([null]));
    startWork();
    const job = await begin({ column: 'twice' });
    expect(await settled(table.engine.backend, job)).toMatchObject({
      job_state: 'DONE',
      job_type: 'backfill',
      spec: { table: 't', column: 'twice' },
      result: { rows_done: 11, rows_total: 11, version: 6 },
    });
    const rows = await table.rows();
    expect(rows.map((row) => row['twice'])).toEqual(rows.map((row) => (row['n'] as bigint) * 2n));
    expect(new Set(await table.column('twice', { version: 5 }))).toEqual(new Set([null]));
    expect(await table.post('describe')).toMatchObject({ version: 6 });
  });

  it('leaves the rows that the predicate does not choose as they are', async () => {
    await table.create(partOf(0), partOf(1));
    await add('twice', 'n * 2');
    startWork();
    await settled(table.engine.backend, await begin({ column: 'twice' }));
    await table.post('update', { updates: [['twice', '0']] });
    await settled(table.engine.backend, await begin({ column: 'twice', where: 'n < 3' }));
    expect((await table.column('twice', { order_by: 'n' })).toSorted(byNumber)).toEqual(
      [0n, 0n, 0n, 0n, 0n, 0n, 2n, 4n],
    );
  });

  it('takes in what others write meanwhile', async () => {
    await table.create(...Array.from({ length: 10 }, (_, part) => partOf(part)));
    await add('twice', 'n * 2');
    startWork();
    const job = await begin({ column: 'twice' });
    await Promise.all([
      ...[10, 11, 12].map((part) => table.send('insert', { body: streamOf(partOf(part)) })),
      table.post('delete', { predicate: 'n = 17' }),
      table.post('update', { updates: [['name', "'late'"]], predicate: 'n = 20' }),
    ]);
    expect(await settled(table.engine.backend, job)).toMatchObject({ job_state: 'DONE' });
    const rows = await table.rows();
    expect(rows).toHaveLength(51);
    const old = rows.filter((row) => (row['n'] as bigint) < 40n);
    expect(old.map((row) => row['twice'])).toEqual(old.map((row) => (row['n'] as bigint) * 2n));
  });
});

function partOf(part: number): Columns {
  const numbers = [0, 1, 2, 3].map((row) => BigInt(4 * part + row));
  return {
    n: vectorFromArray(numbers, new Int64()),
    name: vectorFromArray(numbers.map(String), new Utf8()),
  };
}

function byNumber(left: unknown, right: unknown): number {
  return Number(left) - Number(right);
}

describe('transactions', () => {
  it('x', async () => {
    await table.create(partOf(0));
    await add('twice', 'n * 2');
    const job = await begin({ column: 'twice' });
    expect((await ask(table.engine.backend, `POST /v1/transaction/${job}/describe`)).json).toEqual({});
  });
});
