import { Int64, Utf8, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EngineTable, refusalOf, streamOf, type Columns } from '../../support/engine-table.ts';

let table: EngineTable;

beforeEach(async () => {
  table = await EngineTable.open();
  await table.create(partOf(0));
  await add('twice', 'n * 2');
});

afterEach(async () => table.close());

const add = (name: string, computed: string) =>
  table.post('add_columns', { new_columns: [{ name, computed }] });

/** `n` and `twice` of every row, by `n`. */
async function pairs(): Promise<readonly (readonly [bigint, bigint | null])[]> {
  const rows = (await table.rows()) as { n: bigint; twice: bigint | null }[];
  return rows.map(({ n, twice }) => [n, twice] as const).toSorted(([a], [b]) => Number(a - b));
}

const unfilled = [0n, 1n, 2n, 3n].map((n) => [n, null] as const);

describe('a computed column', () => {
  it('is null where nothing has filled it, and says what it is computed from', async () => {
    expect(await pairs()).toEqual(unfilled);
    expect(await table.fields()).toContainEqual({
      name: 'twice',
      nullable: true,
      type: { type: 'int64' },
      metadata: { 'arrowgate.computed': 'n * 2' },
    });
  });

  it('has its value in rows that are inserted without it, and what is sent where it is sent', async () => {
    await table.send('insert', { body: streamOf(partOf(1)) });
    const sent = { ...partOf(2), twice: vectorFromArray([7n, null, 7n, 7n], new Int64()) };
    await table.send('insert', { body: streamOf(sent) });
    expect(await pairs()).toEqual([
      ...unfilled,
      ...[4n, 5n, 6n, 7n].map((n) => [n, 2n * n]),
      [8n, 7n],
      [9n, null],
      [10n, 7n],
      [11n, 7n],
    ]);
  });

  it('follows an update of a column that it reads, of no other, and can be updated itself', async () => {
    await table.post('update', { updates: [['n', 'n + 10']], predicate: 'n = 1' });
    await table.post('update', { updates: [['name', "'x'"]], predicate: 'n = 2' });
    await table.post('update', {
      updates: [
        ['n', 'n + 10'],
        ['twice', '1'],
      ],
      predicate: 'n = 3',
    });
    expect(await pairs()).toEqual([
      [0n, null],
      [2n, null],
      [11n, 22n],
      [13n, 1n],
    ]);
  });

  it('has its value in rows that a merge writes, from columns that were sent or stayed', async () => {
    await add('label', "name || '!'");
    const names = vectorFromArray(['one', 'four'], new Utf8());
    const body = streamOf({ n: vectorFromArray([1n, 4n], new Int64()), name: names });
    const all = 'when_matched_update_all=true&when_not_matched_insert_all=true';
    await table.send(`merge_insert?on=n&${all}`, { body });
    const only = streamOf({ n: vectorFromArray([2n], new Int64()) });
    await table.send('merge_insert?on=n&when_matched_update_all=true', { body: only });
    expect(await pairs()).toEqual([
      [0n, null],
      [1n, 2n],
      [2n, 4n],
      [3n, null],
      [4n, 8n],
    ]);
    const labels = await table.rows({ columns: ['label'], filter: 'label IS NOT NULL' });
    expect(labels.map((row) => String(row['label'])).toSorted()).toEqual(['2!', 'four!', 'one!']);
  });

  it('may be left out of rows also where it may not be null', async () => {
    await table.post('update', { updates: [['n', 'n']] });
    const alterations = [{ path: 'twice', nullable: false }];
    await table.post('alter_columns', { alterations });
    await table.send('insert', { body: streamOf(partOf(1)) });
    expect(await pairs()).toEqual([0n, 1n, 2n, 3n, 4n, 5n, 6n, 7n].map((n) => [n, 2n * n]));
    const body = streamOf({ n: vectorFromArray([null], new Int64()) });
    expect(await refusalOf(table.send('insert', { body }))).toBe(
      '20 the computed column "twice" may not be null, and its expression is for some row',
    );
  });

  it('refuses rows of which its value cannot be computed, and takes none of them', async () => {
    await add('inverse', '10 / n');
    const before = await table.state();
    const body = streamOf({ n: vectorFromArray([1n, 0n], new Int64()) });
    expect(await refusalOf(table.send('insert', { body }))).toMatch(
      /^13 computed column "inverse": /,
    );
    expect(await table.state()).toEqual(before);
  });

  it('keeps what it reads: other columns may go', async () => {
    await table.refuses(
      'drop_columns',
      { columns: ['n'] },
      20,
      'the column "twice" could no longer be computed: computed column "twice": expected the name of a column, found n; the nearest are name, at position 1',
    );
    await table.refuses(
      'alter_columns',
      { alterations: [{ path: 'n', rename: 'm' }] },
      20,
      'the column "twice" could no longer be computed: computed column "twice": expected the name of a column, found n; the nearest are m, name, at position 1',
    );
    await table.post('drop_columns', { columns: ['name'] });
    await add('more', 'n + 1');
    await table.post('drop_columns', { columns: ['twice'] });
    expect((await table.rows())[0]).toEqual({ n: 0n, more: null });
  });

  it.each([
    ['another computed column', 'twice + 1', 12],
    ['a column that is not there', 'm + 1', 12],
    ['no SQL', 'n +', 13],
    ['nothing', '', 13],
  ])('is refused over %s', async (_, computed, code) => {
    const before = await table.state();
    expect(await refusalOf(add('x', computed))).toMatch(new RegExp(`^${code} new_columns.x: `));
    expect(await table.state()).toEqual(before);
  });

  it.each([[{ computed: 'n', expression: 'n' }], [{ computed: 'n', all_null: true }], [{}]])(
    'is one way of three to say what a new column holds: %j',
    async (entry) => {
      await table.refuses(
        'add_columns',
        { new_columns: [{ name: 'x', ...entry }] },
        13,
        'the new column "x" must have either an expression, computed or all_null',
      );
    },
  );
});

function partOf(part: number): Columns {
  const numbers = [0, 1, 2, 3].map((row) => BigInt(4 * part + row));
  return {
    n: vectorFromArray(numbers, new Int64()),
    name: vectorFromArray(numbers.map(String), new Utf8()),
  };
}
