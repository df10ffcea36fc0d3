import { disk } from '../../../support/disk.ts';
import { join } from 'node:path';
import { Int64, Utf8, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { backfill } from '../../../../src/engine/upkeep/jobs/backfill.ts';
import { claim } from '../../../../src/engine/upkeep/jobs/job.ts';
import { Transactions } from '../../../../src/engine/upkeep/jobs/transactions.ts';
import { MemoryBudget } from '../../../../src/engine/format/memory/memory-budget.ts';
import { FragmentReader } from '../../../../src/engine/query/scan/fragment-reader.ts';
import { LocalStorage } from '../../../../src/storage/local-storage.ts';
import { Tables } from '../../../../src/engine/versions/tables.ts';
import type {
  Committed,
  VersionCommit,
} from '../../../../src/engine/versions/lines/version-commits.ts';
import { EngineTable, streamOf, type Columns } from '../../../support/engine-table.ts';
import { ask } from '../../../support/request.ts';
import { jobIdOf, settled } from '../../../support/jobs.ts';

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
    expect((await table.column('twice')).toSorted(byNumber)).toEqual([
      0n,
      0n,
      0n,
      0n,
      0n,
      0n,
      2n,
      4n,
    ]);
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
    expect(rows.map((row) => row['twice'])).toEqual(rows.map((row) => (row['n'] as bigint) * 2n));
  });

  it('does not mind another that fills another column, nor columns that come and go', async () => {
    await table.create(...Array.from({ length: 8 }, (_, part) => partOf(part)));
    await add('twice', 'n * 2');
    await add('label', "name || '!'");
    startWork();
    const jobs = [await begin({ column: 'twice' }), await begin({ column: 'label' })];
    const extra = { new_columns: [{ name: 'extra', expression: 'n + 1' }] };
    await table.post('add_columns', extra);
    await table.post('drop_columns', { columns: ['extra'] });
    for (const job of jobs) {
      expect(await settled(table.engine.backend, job)).toMatchObject({ job_state: 'DONE' });
    }
    for (const { n, twice, label } of await table.rows()) {
      expect([twice, label]).toEqual([(n as bigint) * 2n, `${n as bigint}!`]);
    }
  });

  it('does not keep writers waiting for many rows, and gets through all the same', async () => {
    await table.create(partOf(0));
    await add('twice', 'n * 2');
    const id = await begin({ column: 'twice' });
    const { store, data } = table.engine;
    const tables = new BusyTables({
      storage: new LocalStorage(),
      root: join(data, 'tables'),
      store,
      committer: store,
      memory: new MemoryBudget(0),
    });
    tables.between = async (part) => {
      await table.send('insert', { body: streamOf(partOf(part)) });
    };
    const reader = new FragmentReader(disk);
    const hold = { transactions: new Transactions(store, store), holder: 'h', leaseMillis: 60_000 };
    const job = await claim(hold, id);
    await backfill({ store, tables, reader, rowsInCommit: 0 })(job!);
    await reader.close();
    expect(tables.commits).toBe(5);
    const rows = await table.rows();
    expect(rows).toHaveLength(24);
    expect(rows.map((row) => row['twice'])).toEqual(rows.map((row) => (row['n'] as bigint) * 2n));
    expect(await table.files('fragments')).toHaveLength(6 + 6 + 8);
  });

  it('fills a column of a branch, and of no other of its name', async () => {
    await table.create(partOf(0));
    await add('twice', 'n * 2');
    await table.post('branches/create', { name: 'b' });
    const branch = 'b';
    const [first, second] = [
      await begin({ column: 'twice', branch, where: 'n < 2' }),
      await begin({ column: 'twice', branch }),
    ];
    startWork();
    expect(await settled(table.engine.backend, first)).toMatchObject({
      job_state: 'DONE',
      spec: { branch: 'b' },
      result: { version: 3 },
    });
    await settled(table.engine.backend, second);
    expect(await table.column('twice', { branch })).toEqual([0n, 2n, 4n, 6n]);
    expect(await table.column('twice')).toEqual([null, null, null, null]);
  });

  it('fails when its branch is gone, also when there is another of the name', async () => {
    await table.create(partOf(0));
    await add('twice', 'n * 2');
    await table.post('branches/create', { name: 'b' });
    await table.post('branches/create', { name: 'c' });
    const jobs = [
      await begin({ column: 'twice', branch: 'b' }),
      await begin({ column: 'twice', branch: 'c' }),
    ];
    await table.post('branches/delete', { name: 'b' });
    await table.post('branches/delete', { name: 'c' });
    await table.post('branches/create', { name: 'c' });
    startWork();
    const ends = await Promise.all(jobs.map((job) => settled(table.engine.backend, job)));
    expect(ends).toMatchObject([
      { failure: { code: 22, message: 'the table has no branch "b"' } },
      { failure: { code: 22, message: 'the branch "c" is another one than when the job began' } },
    ]);
  });

  it('goes on with a table that was renamed', async () => {
    await table.create(partOf(0));
    await add('twice', 'n * 2');
    const job = await begin({ column: 'twice' });
    await table.post('rename', { new_table_name: 'u' });
    startWork();
    expect(await settled(table.engine.backend, job)).toMatchObject({
      job_state: 'DONE',
      spec: { table: 'u' },
    });
  });

  it.each([
    ['the table is dropped', 'drop', {}, 4, 'table /t does not exist'],
    [
      'the column is dropped',
      'drop_columns',
      { columns: ['twice'] },
      12,
      'the table has no column "twice"',
    ],
  ])('fails when %s before it ran', async (_, action, body, code, message) => {
    await table.create(partOf(0));
    await add('twice', 'n * 2');
    const job = await begin({ column: 'twice' });
    await table.post(action, body);
    const files = await table.files();
    startWork();
    expect(await settled(table.engine.backend, job)).toMatchObject({
      job_state: 'FAILED',
      failure: { phase: 'run', code, message, retryable: false },
    });
    expect(await table.files()).toEqual(files);
  });

  it('fails over a value that cannot be computed, and leaves the table as it was', async () => {
    await table.create(partOf(1), partOf(0));
    await add('inverse', '12 / n');
    const before = await table.state();
    startWork();
    const job = await begin({ column: 'inverse' });
    expect(await settled(table.engine.backend, job)).toMatchObject({
      job_state: 'FAILED',
      failure: {
        code: 13,
        message:
          'computed column "inverse": expected a divisor other than zero, found 12 / 0, at position 4',
      },
    });
    expect(await table.state()).toEqual(before);
    await settled(table.engine.backend, await begin({ column: 'inverse', where: 'n <> 0' }));
    expect(await table.column('inverse')).toEqual([3n, 2n, 2n, 1n, null, 12n, 6n, 4n]);
  });

  it.each([
    [{ column: 'none' }, 12, 'the table has no column "none"'],
    [{ column: 'n' }, 13, 'the column "n" is not computed: there is no expression to fill it from'],
    [
      { column: 'twice', where: 'n' },
      13,
      'where must be true or false of each row, not of type int64',
    ],
    [
      { column: 'twice', where: 'm = 1' },
      12,
      'where: expected the name of a column, found m; the nearest are n, name, twice, at position 1',
    ],
    [
      { column: 'twice', read_version: 1 },
      13,
      'read_version is 1, and a backfill reads the newest version, which is 2',
    ],
    [
      { column: 'twice', num_frags: 1 },
      0,
      'num_frags is not supported: a backfill fills all rows; where says which of them',
    ],
    [
      { column: 'twice', cluster: 'c' },
      0,
      'cluster is not supported: this service fills columns itself and knows no clusters',
    ],
    [
      { column: 'twice', manifest: 'm' },
      0,
      'manifest is not supported: this service runs no code of clients and takes no manifests of it',
    ],
    [{ column: 'twice', branch: 'b' }, 22, 'the table has no branch "b"'],
  ])('is refused: %j', async (body, code, sentence) => {
    await table.create(partOf(0));
    await add('twice', 'n * 2');
    await table.refuses('backfill_column', body, code, sentence);
    const { json } = await ask(table.engine.backend, 'POST /v1/jobs/list', { body: {} });
    expect(json).toEqual({ jobs: [] });
  });
});

/** Tables that somebody else writes before each commit. */
class BusyTables extends Tables {
  commits = 0;
  between: (commits: number) => Promise<void> = async () => undefined;

  override async commit(commit: VersionCommit): Promise<Committed> {
    await this.between(++this.commits);
    return super.commit(commit);
  }
}

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
