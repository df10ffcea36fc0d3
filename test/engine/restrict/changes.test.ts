import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { Rulebook } from '../../support/ruled-engine.ts';
import { TestPermit } from '../../support/permit.ts';
import { ask } from '../../support/request.ts';
import type { Mask, Restrictions } from '../../../src/protocol/restrictions.ts';
import {
  RestrictedEngine,
  streamOfRows,
  type ColumnName,
  type TestRow,
} from './restricted-table.ts';

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
const opened: RestrictedEngine[] = [];
let tested: RestrictedEngine;
let table: string;
let count = 0;

beforeEach(async () => {
  rules.clear();
  if (opened.length === 0) opened.push(await RestrictedEngine.open({ rules }));
  [tested] = opened as [RestrictedEngine];
  table = `t${count++}`;
  await tested.send(table, 'create', streamOfRows(rows.slice(0, 7)), null);
  await tested.send(table, 'insert', streamOfRows(rows.slice(7)), null);
  await tested.send(table, 'delete', { predicate: 'id = 4' }, null);
});

afterAll(async () => opened[0]?.close());

const change = async (action: string, body: object | Uint8Array, by: Restrictions | null = eu) =>
  (await tested.send(table, action, body, by)).json;

async function column(name: ColumnName): Promise<unknown[]> {
  const order_by = [{ column_name: 'id' }];
  const body = { vector: [], columns: [name], order_by };
  const told = await tested.told(table, 'query', body, null);
  if (!('rows' in told)) throw new Error(JSON.stringify(told));
  return told.rows.map((row) => (row as Record<string, unknown>)[name]);
}

const ids = async () => (await column('id')).map(Number);
const all = [0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11];

describe('a delete of a bound caller', () => {
  it('deletes visible rows alone, and counts them', async () => {
    const answer = await change('delete', { predicate: 'id < 7 OR 100 / amount > 0' });
    expect(answer).toMatchObject({ num_deleted_rows: 5 });
    expect(await ids()).toEqual([1, 3, 5, 7, 9, 11]);
  });

  it('has a predicate of what the caller sees', async () => {
    expect(await change('delete', { predicate: "email LIKE '%@%'" })).toMatchObject({
      num_deleted_rows: 0,
    });
    // Visible rows are numbered among themselves.
    expect(await change('delete', { predicate: '_rowoffset = 2' })).toMatchObject({
      num_deleted_rows: 1,
    });
    expect(await ids()).toEqual(all.filter((id) => id !== 6));
    await expect(change('delete', { predicate: 'price = 1' })).rejects.toThrow('price');
    expect(await change('delete', { predicate: "region = 'us'" })).toMatchObject({
      num_deleted_rows: 0,
    });
  });

  it('goes on where all rows are visible, and where none is', async () => {
    const whole = bound([], [['price', 'hidden']]);
    expect(await change('delete', { predicate: 'id > 8' }, whole)).toMatchObject({
      num_deleted_rows: 3,
    });
    expect(await change('delete', { predicate: 'true' }, bound(['false']))).toMatchObject({
      num_deleted_rows: 0,
    });
    expect(await ids()).toEqual([0, 1, 2, 3, 5, 6, 7, 8]);
  });
});

describe('an update of a bound caller', () => {
  it('updates visible rows alone, and keeps what the caller does not see of them', async () => {
    const updates = [
      ['words', "concat(email, '!')"],
      ['amount', '100 / amount'],
    ];
    expect(await change('update', { updates })).toMatchObject({ rows_updated: 5 });
    const stars = (id: number) => `${String(id)[0]}${'*'.repeat(`${id}@x.org`.length - 1)}!`;
    expect(await column('words')).toEqual(
      all.map((id) => (id % 2 === 0 ? stars(id) : 'whale song')),
    );
    expect(await column('email')).toEqual(all.map((id) => `${id}@x.org`));
    expect(await column('price')).toEqual(all);
    expect(await column('amount')).toEqual(
      all.map((id) => (id % 2 === 0 ? Math.trunc(100 / (id + 1)) : id === 7 ? 0 : id + 1)),
    );
  });

  it('may write the columns of the row filter if the rows stay visible', async () => {
    const updates = [['region', "'eu'"]];
    expect(await change('update', { updates, predicate: 'id > 6' })).toMatchObject({
      rows_updated: 2,
    });
    await expect(
      change('update', { updates: [['region', "CASE WHEN id = 10 THEN 'us' ELSE 'eu' END"]] }),
    ).rejects.toMatchObject({
      row: { code: 15 },
      message: `user:tester may not UpdateTable on /${table}: the restriction own would hide one of the rows; send only rows that you may see`,
    });
    expect(await column('region')).toEqual(all.map((id) => (id % 2 === 0 ? 'eu' : 'us')));
  });

  it.each([
    ['a masked column', eu, [['email', "'x'"]], '"email" is masked or hidden'],
    ['a hidden column', eu, [['price', '1']], '"price" is masked or hidden'],
    [
      'a column of a filter of hidden values',
      bound(['amount > price'], [['price', 'hidden']]),
      [['amount', '3']],
      'a row filter depends on it, and on a column that is masked or hidden',
    ],
  ])('is refused for %s', async (_, by, updates, why) => {
    const made = change('update', { updates }, by);
    await expect(made).rejects.toMatchObject({ row: { code: 15 } });
    await expect(made).rejects.toThrow(why);
  });

  it('is refused where it sets properties, which are those of the whole table', async () => {
    const updates = [['words', "'x'"]];
    await expect(change('update', { updates, properties: { a: 'b' } })).rejects.toThrow(
      'properties are those of the whole table',
    );
  });

  it('is refused where a computed column would tell', async () => {
    const new_columns = [{ name: 'ratio', computed: 'amount * price' }];
    await tested.send(table, 'add_columns', { new_columns }, null);
    await expect(change('update', { updates: [['amount', '3']] })).rejects.toThrow(
      'the computed column "ratio" depends on it, and on a column that is masked or hidden',
    );
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
  });

  it.each([['us'], [null]])('is refused where a row would be hidden: %s', async (region) => {
    const sent = streamOfRows([row(20, 'eu'), row(21, region)], names);
    await expect(change('insert', sent)).rejects.toMatchObject({
      row: { code: 15 },
      message: `user:tester may not InsertIntoTable on /${table}: the restriction own would hide one of the rows; send only rows that you may see`,
    });
    expect(await ids()).toEqual(all);
  });

  it.each(['email', 'price'] as const)('is refused with a value for %s', async (name) => {
    const sent = streamOfRows([row(20, 'eu')], [...names, name]);
    await expect(change('insert', sent)).rejects.toThrow(
      `the column "${name}" is masked or hidden, and is not written`,
    );
  });

  it('names no hidden column in an error', async () => {
    const sent = streamOfRows([row(20, 'eu')], ['region', 'vec']);
    await change('insert', sent);
    const strange = streamOfRows([row(20, 'eu')], names);
    const text = Buffer.from(strange).toString('latin1').replaceAll('amount', 'anount');
    const error = await change('insert', Buffer.from(text, 'latin1')).then(
      () => new Error('was taken'),
      (thrown: Error) => thrown,
    );
    expect(error.message).toContain('anount');
    expect(error.message).not.toMatch(/price|email/);
  });

  it('does not overwrite', async () => {
    await expect(
      change('insert?mode=overwrite', streamOfRows([row(20, 'eu')], names)),
    ).rejects.toThrow('an overwrite would remove hidden rows');
    expect(await ids()).toEqual(all);
  });
});

describe('a merge of a bound caller', () => {
  const names: readonly ColumnName[] = ['id', 'region', 'words'];
  const sent = (some: readonly (readonly [id: number, region?: string])[], ...more: ColumnName[]) =>
    streamOfRows(
      some.map(([id, region = 'eu']) => ({ ...rows[0]!, id: BigInt(id), region, words: 'sent' })),
      [...names, ...more],
    );
  const update = 'when_matched_update_all=true';
  const both = `${update}&when_not_matched_insert_all=true`;
  const remove = 'when_not_matched_by_source_delete=true';

  it('updates visible rows, keeps what is hidden of them, and inserts the others', async () => {
    const answer = await change(`merge_insert?on=id&${both}`, sent([[2], [8], [20]]));
    expect(answer).toMatchObject({
      num_updated_rows: 2,
      num_inserted_rows: 1,
      num_deleted_rows: 0,
    });
    const isSent = (id: number) => id === 2 || id === 8 || id === 20;
    expect(await ids()).toEqual([...all, 20]);
    const made = [...all, 20];
    expect(await column('words')).toEqual(made.map((id) => (isSent(id) ? 'sent' : 'whale song')));
    expect(await column('email')).toEqual(made.map((id) => (id === 20 ? null : `${id}@x.org`)));
    expect(await column('price')).toEqual(made.map((id) => (id === 20 ? null : id)));
  });

  it('meets no hidden row: its key is one of a new row', async () => {
    const answer = await change(`merge_insert?on=id&${both}`, sent([[7], [8]]));
    expect(answer).toMatchObject({ num_updated_rows: 1, num_inserted_rows: 1 });
    expect(await ids()).toEqual([...all, 7].toSorted((one, other) => one - other));
    expect((await column('words')).filter((word) => word === 'sent')).toHaveLength(2);
    expect(await change(`merge_insert?on=id&${update}`, sent([[9]]))).toMatchObject({
      num_updated_rows: 0,
    });
  });

  it('removes visible rows that were not sent, and no hidden one', async () => {
    const query = `merge_insert?on=id&${both}&${remove}`;
    expect(await change(query, sent([[0], [6]]))).toMatchObject({
      num_updated_rows: 2,
      num_deleted_rows: 3,
    });
    expect(await ids()).toEqual([0, 1, 3, 5, 6, 7, 9, 11]);
    const condition = `${remove}&when_not_matched_by_source_delete_filt=${encodeURIComponent('100 / amount > 20')}`;
    expect(await change(`merge_insert?on=id&${condition}`, sent([[0]]))).toMatchObject({
      num_deleted_rows: 0,
    });
  });

  it('has conditions of what the caller sees', async () => {
    const where = (condition: string) =>
      `merge_insert?on=id&${update}&when_matched_update_all_filt=${encodeURIComponent(condition)}`;
    expect(await change(where("target.email LIKE '%@%'"), sent([[2]]))).toMatchObject({
      num_updated_rows: 0,
    });
    expect(await change(where('100 / target.amount > 0'), sent([[2], [7]]))).toMatchObject({
      num_updated_rows: 1,
    });
    await expect(change(where('target.price = 2'), sent([[2]]))).rejects.toThrow('price');
  });

  it.each<[string, string, Uint8Array, Restrictions, string]>([
    [
      'an inserted row that would be hidden',
      `on=id&${both}`,
      sent([[2], [20, 'us']]),
      eu,
      'would hide one of the rows; send only rows that you may see',
    ],
    [
      'an updated row that would be hidden',
      `on=id&${update}`,
      sent([[2, 'us']]),
      eu,
      'would hide one of the rows; send only rows that you may see',
    ],
    [
      'a masked column',
      `on=id&${both}`,
      sent([[2]], 'email'),
      eu,
      'the column "email" is masked or hidden, and is not written',
    ],
    [
      'a hidden column',
      `on=id&${both}`,
      sent([[2]], 'price'),
      eu,
      'the column "price" is masked or hidden, and is not written',
    ],
    [
      'a masked key',
      `on=email&${both}`,
      sent([[2]]),
      eu,
      'the column "email" is masked or hidden, and is not written',
    ],
    [
      'a filter of hidden values',
      `on=id&${update}`,
      sent([[2]], 'amount'),
      bound(['amount > price'], [['price', 'hidden']]),
      'a row filter depends on it, and on a column that is masked or hidden',
    ],
  ])('is refused for %s', async (_, query, body, by, why) => {
    const made = change(`merge_insert?${query}`, body, by);
    await expect(made).rejects.toMatchObject({ row: { status: 403, code: 15 } });
    await expect(made).rejects.toThrow(why);
    expect(await ids()).toEqual(all);
    expect(await column('words')).toEqual(all.map(() => 'whale song'));
  });

  it.each(['unique: [id]', 'max_rows: 1000', 'max_removed_share: 0.5', 'check: amount < price'])(
    'is refused where a commit rule would tell: %s',
    async (demand) => {
      rules.demand(demand);
      const made = change(`merge_insert?on=id&${both}`, sent([[2]]));
      await expect(made).rejects.toMatchObject({ row: { status: 403, code: 15 } });
      await expect(made).rejects.toThrow('would tell of what is hidden');
    },
  );
});

describe('a change of a bound caller', () => {
  const sent = streamOfRows([{ ...rows[0]!, id: 1n }], ['id', 'region']);

  it.each([
    ['insert', sent, 'unique: [id]'],
    ['insert', sent, 'max_rows: 1000'],
    ['update', { updates: [['id', '1']] }, 'unique: [id]'],
    ['update', { updates: [['amount', '1']] }, 'check: amount < price'],
    ['delete', { predicate: 'id = 0' }, 'max_removed_share: 0.5'],
  ])('is refused where a commit rule would tell: %s, %s, %s', async (action, body, demand) => {
    rules.demand(demand);
    await expect(change(action, body)).rejects.toMatchObject({
      row: { code: 15 },
      message: expect.stringContaining('would tell of what is hidden'),
    });
    expect(await ids()).toEqual(all);
  });

  it('is judged by the other rules', async () => {
    rules.demand('append_only: true');
    await expect(change('delete', { predicate: 'id < 3' })).rejects.toThrow('it removes 2 rows');
    expect(await change('insert', sent)).toMatchObject({ num_inserted_rows: 1 });
  });

  it('is not answered with what it did under other restrictions', async () => {
    const repeated = (by: Restrictions | null) =>
      ask(tested.engine.backend, `POST /v1/table/${table}/delete`, {
        body: { predicate: 'id < 4' },
        id: `again-${table}`,
        permit: new TestPermit({ restrictionsOn: () => by }),
      });
    expect((await repeated(eu)).json).toMatchObject({ num_deleted_rows: 2 });
    expect((await repeated(eu)).json).toMatchObject({ num_deleted_rows: 2 });
    for (const by of [null, bound(["region = 'eu'"])]) {
      await expect(repeated(by)).rejects.toMatchObject({ row: { code: 13 } });
    }
    expect(await ids()).toEqual(all.filter((id) => id > 3 || id % 2 === 1));
  });
});

describe('other changes of a bound caller', () => {
  it.each([
    ['clone', 'a clone would have the hidden rows'],
    ['stats', 'its bytes and fragments are those of hidden rows, too; count the rows instead'],
    ['create_index', 'an index covers hidden rows'],
    ['restore', 'it would change hidden rows'],
    ['drop', 'the restriction own cannot be applied to it'],
    ['tags/create', 'the restriction own cannot be applied to it'],
    ['branches/create', 'the restriction own cannot be applied to it'],
  ])('are refused: %s', async (action, why) => {
    const made = tested.send(table, action, {}, eu);
    await expect(made).rejects.toMatchObject({ row: { code: 15 } });
    await expect(made).rejects.toThrow(why);
  });
});
