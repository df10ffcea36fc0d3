import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Mask, Restrictions } from '../../../src/protocol/restrictions.ts';
import { Rulebook } from '../../support/ruled-engine.ts';
import {
  RestrictedEngine,
  streamOfRows,
  type ColumnName,
  type TestRow,
} from './restricted-table.ts';

/** Changes of Lance tables by callers whom restrictions bind. */

const rows = Array.from({ length: 12 }, (_, id): TestRow => ({
  id: BigInt(id),
  region: id % 2 === 0 ? 'eu' : 'us',
  // A division by it fails on a hidden row only.
  amount: id === 7 ? 0 : id + 1,
  price: id,
  email: `${id}@x.org`,
  words: 'whale song',
  day: 0,
  vec: [id, 0],
}));

function bound(
  sql: readonly string[],
  columns: readonly (readonly [string, Mask | 'hidden'])[] = [],
): Restrictions {
  return {
    names: ['own'],
    rows: sql.map((each) => ({ restriction: 'own', sql: each })),
    columns: columns.map(([column, as]) => ({ restriction: 'own', column, as })),
  };
}

const eu = bound(
  ["region = 'eu'"],
  [
    ['email', { mask: 'first', n: 1 }],
    ['price', 'hidden'],
  ],
);

const rules = new Rulebook();
let tested: RestrictedEngine;
let table: string;
let count = 0;

beforeAll(async () => {
  tested = await RestrictedEngine.open({ rules }, () => true);
});

beforeEach(async () => {
  rules.clear();
  table = `t${count++}`;
  await tested.send(table, 'create', streamOfRows(rows.slice(0, 7)), null);
  await tested.send(table, 'insert', streamOfRows(rows.slice(7)), null);
  await tested.send(table, 'delete', { predicate: 'id = 4' }, null);
});

afterAll(async () => tested.close());

const change = async (action: string, body: object | Uint8Array, by: Restrictions | null = eu) =>
  (await tested.send(table, action, body, by)).json;

async function column(name: ColumnName, place: object = {}): Promise<unknown[]> {
  const order_by = [{ column_name: 'id' }];
  const body = { vector: [], columns: [...new Set([name, 'id'])], order_by, ...place };
  const told = await tested.told(table, 'query', body, null);
  if (!('rows' in told)) throw new Error(JSON.stringify(told));
  return told.rows.map((row) => (row as Record<string, unknown>)[name]);
}

const ids = async (place: object = {}) => (await column('id', place)).map(Number);
const all = [0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11];

describe('a delete of a bound caller', () => {
  it('deletes visible rows alone, and counts them', async () => {
    const answer = await change('delete', { predicate: 'id < 7 OR 100 / amount > 0' });
    expect(answer).toMatchObject({ num_deleted_rows: 5 });
    expect(await ids()).toEqual([1, 3, 5, 7, 9, 11]);
    expect(await change('delete', { predicate: 'true' })).toMatchObject({ num_deleted_rows: 0 });
    expect(await ids()).toEqual([1, 3, 5, 7, 9, 11]);
  });

  it('has a predicate of what the caller sees', async () => {
    for (const predicate of ["email LIKE '%@%'", "region = 'us'"]) {
      expect(await change('delete', { predicate })).toMatchObject({ num_deleted_rows: 0 });
    }
    // Visible rows are numbered among themselves.
    expect(await change('delete', { predicate: '_rowid = 2' })).toMatchObject({
      num_deleted_rows: 1,
    });
    expect(await ids()).toEqual(all.filter((id) => id !== 6));
    await expect(change('delete', { predicate: 'price = 1' })).rejects.toThrow('price');
  });

  it('changes a branch, and leaves main', async () => {
    await change('branches/create', { name: 'dev' }, null);
    expect(await change('delete?branch=dev', { predicate: 'id > 5' })).toMatchObject({
      num_deleted_rows: 3,
    });
    expect(await ids({ branch: 'dev' })).toEqual([0, 1, 2, 3, 5, 7, 9, 11]);
    expect(await ids()).toEqual(all);
  });

  it('of many at once removes what each of them asks for', async () => {
    const deleted = [0, 2, 6, 8].map((id) => change('delete', { predicate: `id = ${id}` }));
    for (const answer of await Promise.all(deleted)) {
      expect(answer).toMatchObject({ num_deleted_rows: 1 });
    }
    expect(await ids()).toEqual([1, 3, 5, 7, 9, 10, 11]);
  });
});

describe('an update of a bound caller', () => {
  it('updates visible rows alone, and keeps what the caller does not see of them', async () => {
    const updates = [
      ['words', "concat('it''s ', 'a\\n\"song\"')"],
      ['amount', '-3'],
    ];
    const answer = await change('update', { updates, predicate: '100 / amount > 0' });
    expect(answer).toMatchObject({ rows_updated: 5 });
    const isSeen = (id: number) => id % 2 === 0;
    expect(await column('words')).toEqual(
      all.map((id) => (isSeen(id) ? 'it\'s a\\n"song"' : 'whale song')),
    );
    expect(await column('amount')).toEqual(
      all.map((id) => (isSeen(id) ? -3 : id === 7 ? 0 : id + 1)),
    );
    expect(await column('email')).toEqual(all.map((id) => `${id}@x.org`));
    expect(await column('price')).toEqual(all);
    expect(
      await change('update', { updates: [['words', 'NULL']], predicate: 'id < 0' }),
    ).toMatchObject({ rows_updated: 0 });
    expect(
      await change('update', { updates: [['words', 'NULL']], predicate: 'id = 0' }),
    ).toMatchObject({ rows_updated: 1 });
    expect((await column('words'))[0]).toBe(null);
  });

  it('may write the columns of the row filter if the rows stay visible', async () => {
    const updates = [['region', "'eu'"]];
    expect(await change('update', { updates, predicate: 'id > 6' })).toMatchObject({
      rows_updated: 2,
    });
    expect(await column('region')).toEqual(all.map((id) => (id % 2 === 0 ? 'eu' : 'us')));
  });
});

describe('an insert of a bound caller', () => {
  const names: readonly ColumnName[] = ['id', 'region', 'amount', 'words', 'day', 'vec'];
  const row = (id: number, region: string | null): TestRow => ({
    ...rows[0]!,
    id: BigInt(id),
    region,
  });

  it('adds rows that the caller sees; other columns are null in them', async () => {
    const sent = streamOfRows([row(20, 'eu'), row(22, 'eu')], names);
    expect(await change('insert', sent)).toMatchObject({ num_inserted_rows: 2 });
    expect(await ids()).toEqual([...all, 20, 22]);
    expect((await column('email')).slice(-2)).toEqual([null, null]);
    const few = streamOfRows([row(24, 'eu')], ['region', 'id']);
    expect(await change('insert', few)).toMatchObject({ num_inserted_rows: 1 });
    expect(await ids()).toEqual([...all, 20, 22, 24]);
  });
});

const OTHER_ROW = 'the restriction own would hide one of the rows; send only rows that you may see';
const stream = (region: string | null, ...names: readonly ColumnName[]) =>
  streamOfRows([{ ...rows[0]!, region }], ['id', 'region', ...names]);

describe('refusals, each of which leaves the table as it was', () => {
  it.each<[string, string, object | Uint8Array, Restrictions, string]>([
    ['another region', 'insert', stream('us'), eu, OTHER_ROW],
    ['no region', 'insert', stream(null), eu, OTHER_ROW],
    [
      'a masked column',
      'insert',
      stream('eu', 'email'),
      eu,
      'the column "email" is masked or hidden, and is not written',
    ],
    [
      'a hidden column',
      'insert',
      stream('eu', 'price'),
      eu,
      'the column "price" is masked or hidden, and is not written',
    ],
    [
      'an overwrite',
      'insert?mode=overwrite',
      stream('eu'),
      eu,
      'an overwrite would remove hidden rows',
    ],
    ['rows that would be hidden', 'update', { updates: [['region', "'us'"]] }, eu, OTHER_ROW],
    [
      'a masked value',
      'update',
      { updates: [['email', "'x'"]] },
      eu,
      'the column "email" is masked or hidden, and is not written',
    ],
    [
      'a hidden value',
      'update',
      { updates: [['price', '1']] },
      eu,
      'the column "price" is masked or hidden, and is not written',
    ],
    [
      'a filter of hidden values',
      'update',
      { updates: [['amount', '3']] },
      bound(['amount > price'], [['price', 'hidden']]),
      'a row filter depends on it, and on a column that is masked or hidden',
    ],
    [
      'an expression',
      'update',
      { updates: [['words', 'email']] },
      eu,
      'the value of "words" depends on the row, and an update of a Lance table takes the same value for all rows',
    ],
    [
      'a date',
      'update',
      { updates: [['day', "DATE '2001-02-03'"]] },
      eu,
      'the value of "day" is no number, text or boolean, and an update of a Lance table takes no other values',
    ],
    [
      'properties',
      'update',
      { updates: [['words', "'x'"]], properties: { a: 'b' } },
      eu,
      'properties are those of the whole table',
    ],
    [
      'a merge',
      'merge_insert?on=id',
      stream('eu'),
      eu,
      'a merge of a Lance table would meet the keys of hidden rows; use an update and an insert',
    ],
    ['an old version', 'restore', { version: 1 }, eu, 'it would change hidden rows'],
    [
      'an index',
      'create_index',
      { column: 'vec', index_type: 'IVF_FLAT' },
      eu,
      'an index covers hidden rows',
    ],
    [
      'a column',
      'add_columns',
      { new_columns: [{ name: 'x', expression: '1' }] },
      eu,
      'the restriction own cannot be applied to it',
    ],
    ['a drop', 'drop', {}, eu, 'the restriction own cannot be applied to it'],
  ])('403 code 15: %s', async (_, action, body, by, why) => {
    const before = await column('words');
    const made = change(action, body, by);
    await expect(made).rejects.toMatchObject({ row: { status: 403, code: 15 } });
    await expect(made).rejects.toThrow(why);
    expect(await ids()).toEqual(all);
    expect(await column('words')).toEqual(before);
  });

  it.each([
    ['insert', 'unique: [id]', stream('eu')],
    ['insert', 'max_rows: 1000', stream('eu')],
    ['update', 'unique: [id]', { updates: [['id', '1']] }],
    ['delete', 'max_removed_share: 0.5', { predicate: 'id = 0' }],
  ])('403 code 15 where a commit rule would tell: %s, %s', async (action, demand, body) => {
    rules.demand(demand);
    const made = change(action, body);
    await expect(made).rejects.toMatchObject({ row: { status: 403, code: 15 } });
    await expect(made).rejects.toThrow('would tell of what is hidden');
    expect(await ids()).toEqual(all);
  });

  it('are those of other commit rules as well', async () => {
    rules.demand('append_only: true');
    await expect(change('delete', { predicate: 'id < 3' })).rejects.toThrow('it removes 2 rows');
    expect(await ids()).toEqual(all);
  });
});
