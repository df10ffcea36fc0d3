import { Int64, Utf8, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Upkeep } from '../../../src/engine/upkeep.ts';
import type { ObjectPath } from '../../../src/protocol/identifier.ts';
import { EngineTable, streamOf, type Columns } from '../../support/engine-table.ts';

let table: EngineTable;
let upkeep: Upkeep;

beforeEach(async () => {
  table = await EngineTable.open();
  upkeep = table.engine.upkeep!;
});

afterEach(async () => table.close());

const all = { with_row_id: true };
const files = async () => ((await table.post('describe')) as { stats: object }).stats;

describe('a compaction', () => {
  it('merges small files; rows, their order and their ids stay, in every version', async () => {
    await table.create(...[0, 1, 2, 3, 4].map((part) => partOf(part)));
    await table.post('delete', { predicate: 'n % 4 = 1' });
    await table.post('update', { updates: [['name', "'new'"]], predicate: 'n = 6' });
    const before = await table.rows(all);
    const older = await table.rows({ ...all, version: 5 });
    expect(await upkeep.compact(['t'])).toEqual({ merged: 6, made: 1 });
    expect(await files()).toEqual({ num_fragments: 1, num_deleted_rows: 0 });
    expect(await table.rows(all)).toEqual(before);
    expect(await table.rows({ ...all, version: 5 })).toEqual(older);
    expect(await table.rows({ ...all, filter: '_rowid = 2' })).toEqual([before[2 - 1]]);
    expect(await upkeep.compact(['t'])).toBeUndefined();
  });

  it('keeps ids without storing them where they follow each other', async () => {
    await table.create(partOf(0), partOf(1), partOf(2));
    const before = await table.rows(all);
    await upkeep.compact(['t']);
    expect(await table.rows(all)).toEqual(before);
    await table.send('insert', { body: streamOf(partOf(3)) });
    expect((await table.rows(all)).map((row) => row['_rowid'])).toEqual(
      Array.from({ length: 16 }, (_, row) => BigInt(row)),
    );
  });

  it('brings columns that lie in files of their own together', async () => {
    await table.create(partOf(0), partOf(1));
    await table.post('add_columns', { new_columns: [{ name: 'twice', expression: 'n * 2' }] });
    await table.post('drop_columns', { columns: ['name'] });
    const before = await table.rows(all);
    await upkeep.compact(['t']);
    expect(await table.rows(all)).toEqual(before);
    expect(await files()).toEqual({ num_fragments: 1, num_deleted_rows: 0 });
  });

  it('merges on each branch that was written to, and on that alone', async () => {
    await table.create(partOf(0), partOf(1));
    for (const name of ['idle', 'busy']) await table.post('branches/create', { name });
    await table.send('insert?branch=busy', { body: streamOf(partOf(2)) });
    const before = [await table.rows(all), await table.rows({ ...all, branch: 'busy' })];
    expect(await upkeep.compact(['t'])).toEqual({ merged: 5, made: 2 });
    const versions = ['main', 'idle', 'busy'].map((branch) => table.post('describe', { branch }));
    expect(await Promise.all(versions)).toMatchObject([
      { version: 3, stats: { num_fragments: 1 } },
      { version: 2, stats: { num_fragments: 2 } },
      { version: 4, stats: { num_fragments: 1 } },
    ]);
    expect([await table.rows(all), await table.rows({ ...all, branch: 'busy' })]).toEqual(before);
    expect(await table.rows({ ...all, branch: 'idle' })).toEqual(before[0]);
    expect(await upkeep.compact(['t'])).toBeUndefined();
  });

  it('of all tables passes over one that is dropped before its turn', async () => {
    await table.create(partOf(0), partOf(1));
    const listed: ObjectPath[] = [];
    for await (const path of upkeep.tables()) listed.push(path);
    await table.post('drop');
    expect(listed).toEqual([['t']]);
    expect(await upkeep.compactIfPresent(['t'])).toBeUndefined();
    await expect(upkeep.compact(['t'])).rejects.toMatchObject({ row: { name: 'TableNotFound' } });
  });

  it('loses nothing of what is written meanwhile, and leaves no file that no version names', async () => {
    await table.create(...Array.from({ length: 12 }, (_, part) => partOf(part)));
    const [compacted] = await Promise.all([
      upkeep.compact(['t']),
      table.post('delete', { predicate: 'n = 3' }),
      table.post('update', { updates: [['name', "'late'"]], predicate: 'n = 40' }),
      ...[12, 13, 14].map((part) => table.send('insert', { body: streamOf(partOf(part)) })),
    ]);
    expect(compacted?.made).toBeGreaterThan(0);
    const rows = await table.rows();
    expect(rows.map((row) => row['n']).toSorted(byNumber)).toEqual(
      Array.from({ length: 60 }, (_, n) => BigInt(n)).filter((n) => n !== 3n),
    );
    expect(rows.find((row) => row['n'] === 40n)).toMatchObject({ name: 'late' });
  });

  it.each([
    [['none'], 4, 'table /none does not exist'],
    [[], 13, 'the root is not a table'],
  ])('refuses %j', async (path, code, message) => {
    await expect(upkeep.compact(path)).rejects.toMatchObject({ row: { code }, message });
  });
});

function partOf(part: number): Columns {
  const numbers = [0, 1, 2, 3].map((row) => BigInt(4 * part + row));
  return {
    n: vectorFromArray(numbers, new Int64()),
    name: vectorFromArray(
      numbers.map((n) => (n % 3n === 0n ? null : `name ${n}`)),
      new Utf8(),
    ),
  };
}

function byNumber(left: unknown, right: unknown): number {
  return Number(left) - Number(right);
}
