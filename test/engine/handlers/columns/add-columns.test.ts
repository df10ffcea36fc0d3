import { Int32, Int64, Utf8, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EngineTable, streamOf } from '../../../support/engine-table.ts';

let table: EngineTable;

const numbers = (...values: (bigint | null)[]) => vectorFromArray(values, new Int64());
const texts = (...values: (string | null)[]) => vectorFromArray(values, new Utf8());

beforeEach(async () => {
  table = await EngineTable.open();
  await table.create(
    { n: numbers(1n, 2n, null), s: texts('a', 'b', 'c') },
    { n: numbers(0n, 5n), s: texts('d', null) },
  );
});

afterEach(async () => table.close());

describe('AlterTableAddColumns', () => {
  it('fills columns from expressions over every fragment', async () => {
    const answer = await table.send('add_columns', {
      body: {
        new_columns: [
          { name: 'twice', expression: 'n * 2' },
          { name: 'label', expression: "concat(s, '!')" },
          { name: 'one', expression: '1' },
        ],
      },
    });
    expect(answer.json).toEqual({ version: 3 });
    expect(answer.commit).toMatchObject({
      kind: 'add_columns',
      baseVersion: 2n,
      version: 3n,
      rowsAdded: 0n,
      rowsRemoved: 0n,
      schemaChanged: true,
    });
    expect(await table.column('twice')).toEqual([2n, 4n, null, 0n, 10n]);
    expect(await table.column('label')).toEqual(['a!', 'b!', 'c!', 'd!', '!']);
    expect(await table.column('one')).toEqual([1n, 1n, 1n, 1n, 1n]);
    expect(await table.column('n')).toEqual([1n, 2n, null, 0n, 5n]);
  });

  it('leaves deleted rows out of the computation, and lines the others up', async () => {
    await table.post('delete', { predicate: 'n = 0 OR n = 1' });
    await table.post('add_columns', { new_columns: [{ name: 'q', expression: '10 / n' }] });
    expect(await table.rows({ columns: ['n', 'q'], with_row_id: true })).toEqual([
      { n: 2n, q: 5n, _rowid: 1n },
      { n: null, q: null, _rowid: 2n },
      { n: 5n, q: 2n, _rowid: 4n },
    ]);
    expect(await table.column('n', { filter: 'q = 2' })).toEqual([5n]);
  });

  it('adds to rows that were updated before, and can itself be updated', async () => {
    await table.post('update', { updates: [['n', 'n + 100']], predicate: 'n >= 2' });
    await table.post('add_columns', { new_columns: [{ name: 'm', expression: 'n + 1' }] });
    const pairs = async () =>
      (await table.rows({ columns: ['n', 'm'] }))
        .map(({ n, m }) => `${String(n)} ${String(m)}`)
        .toSorted();
    expect(await pairs()).toEqual(['0 1', '1 2', '102 103', '105 106', 'null null']);
    await table.post('update', { updates: [['m', '7']], predicate: 'n = 1' });
    expect(await pairs()).toEqual(['0 1', '1 7', '102 103', '105 106', 'null null']);
  });

  it('adds columns of nulls of a type, which rows that come later may fill', async () => {
    await table.post('add_columns', {
      new_columns: [
        { name: 'k', all_null: true, data_type: { type: 'int32' } },
        { name: 'v', all_null: true, data_type: vector() },
      ],
    });
    expect(await table.column('k')).toEqual([null, null, null, null, null]);
    const more = { n: numbers(9n), k: vectorFromArray([3], new Int32()) };
    await table.send('insert', { body: streamOf(more) });
    expect(await table.column('k')).toEqual([null, null, null, null, null, 3]);
    expect(await table.column('n', { filter: 'k IS NULL AND v IS NULL' })).toHaveLength(5);
    expect(await table.fields()).toMatchObject([
      { name: 'n' },
      { name: 's' },
      { name: 'k' },
      { name: 'v', type: vector() },
    ]);
  });

  it('lets older versions keep their columns', async () => {
    await table.post('add_columns', { new_columns: [{ name: 'm', expression: 'n' }] });
    expect(await table.rows({ version: 2 })).toEqual([
      { n: 1n, s: 'a' },
      { n: 2n, s: 'b' },
      { n: null, s: 'c' },
      { n: 0n, s: 'd' },
      { n: 5n, s: null },
    ]);
    expect(await table.fields({ version: 1 })).toHaveLength(2);
  });

  it('takes effect beside appends that come at the same time', async () => {
    const append = async () =>
      table.send('insert', { body: streamOf({ n: numbers(7n), s: texts('x') }) }).then(
        () => 'appended',
        (error: { row?: { code: number } }) => error.row?.code,
      );
    const outcomes = await Promise.all([
      append(),
      table.post('add_columns', { new_columns: [{ name: 'm', expression: 'n + 1' }] }),
      append(),
      table.post('add_columns', { new_columns: [{ name: 'o', expression: 'n + 2' }] }),
    ]);
    const appended = outcomes.filter((outcome) => outcome === 'appended').length;
    expect(outcomes.filter((outcome) => outcome === 'appended' || outcome === 14)).toHaveLength(2);
    const rows = await table.rows();
    expect(rows).toHaveLength(5 + appended);
    expect(Object.keys(rows[0]!).toSorted()).toEqual(['m', 'n', 'o', 's']);
    expect(rows.slice(0, 5).map(({ m, o }) => [m, o])).toEqual([
      [2n, 3n],
      [3n, 4n],
      [null, null],
      [1n, 2n],
      [6n, 7n],
    ]);
  });

  const column = (entry: object) => ({ new_columns: [{ name: 'x', ...entry }] });
  const refusals: readonly (readonly [string, object, number, string])[] = [
    ['no columns', { new_columns: [] }, 13, 'new_columns must have at least one column'],
    [
      'a column that exists',
      { new_columns: [{ name: 's', expression: 'n' }] },
      20,
      'the table already has a column "s"',
    ],
    [
      'a name twice',
      {
        new_columns: [
          { name: 'x', expression: 'n' },
          { name: 'x', expression: 's' },
        ],
      },
      20,
      'the table would have two columns called "x"',
    ],
    [
      'a reserved name',
      { new_columns: [{ name: '_rowid', expression: 'n' }] },
      20,
      'the column name _rowid is reserved for queries',
    ],
    [
      'a name with a dot',
      { new_columns: [{ name: 'n.x', expression: 'n' }] },
      20,
      'the column name "n.x" has a dot: that is how a field inside of a column is named',
    ],
    [
      'an empty name',
      { new_columns: [{ name: '', expression: 'n' }] },
      20,
      'the name of a column cannot be empty',
    ],
    [
      'an unknown column',
      column({ expression: 'zz + 1' }),
      12,
      'new_columns.x: expected the name of a column, found zz; the nearest are n, s, at position 1',
    ],
    [
      'a column of the same request',
      {
        new_columns: [
          { name: 'x', expression: 'n' },
          { name: 'y', expression: 'x' },
        ],
      },
      12,
      'new_columns.y: expected the name of a column, found x; the nearest are n, s, at position 1',
    ],
    [
      'a broken expression',
      column({ expression: 'n +' }),
      13,
      'new_columns.x: expected an expression, found the end of the text, at position 4',
    ],
    [
      'a value that cannot be computed, in the second fragment',
      column({ expression: '10 / n' }),
      13,
      'new_columns.x: expected a divisor other than zero, found 10 / 0, at position 4',
    ],
    [
      'neither an expression nor nulls',
      column({}),
      13,
      'the new column "x" must have either an expression, computed or all_null',
    ],
    [
      'both',
      column({ expression: 'n', all_null: true }),
      13,
      'the new column "x" must have either an expression, computed or all_null',
    ],
    [
      'nulls of no type',
      column({ all_null: true }),
      13,
      'the new column "x" of nulls must have a data_type',
    ],
    [
      'nulls of an unknown type',
      column({ all_null: true, data_type: { type: 'int7' } }),
      20,
      'new_columns.x.data_type: The type "int7" is not known.',
    ],
    [
      'a type that is none',
      column({ all_null: true, data_type: { type: 7 } }),
      13,
      'JsonArrowDataType: the field "type" must be a string, not the number 7',
    ],
    [
      'a computed column of a function that is not there',
      column({ computed: 'f(n)' }),
      13,
      'new_columns.x: expected the name of a function, found f; the nearest are ln, pi, left, at position 1',
    ],
    [
      'a function',
      { ...column({ all_null: true }), function: 'f' },
      0,
      'this service runs no functions of clients: columns that a function fills cannot be added',
    ],
    [
      'a virtual column',
      column({
        virtual_column: {
          input_columns: ['n'],
          outputs: [],
          image: 'i',
          udf: 'u',
          udf_name: 'f',
          udf_version: '1',
        },
      }),
      0,
      'the column "x" is virtual: this service cannot run the code that computes it; a computed column takes SQL',
    ],
    [
      'another branch',
      { ...column({ expression: 'n' }), branch: 'b' },
      22,
      'the table has no branch "b"',
    ],
  ];

  it.each(refusals)('refuses %s and changes nothing', async (_, body, code, sentence) => {
    await table.refuses('add_columns', body, code, sentence);
  });
});

function vector(): object {
  return {
    type: 'fixed_size_list',
    fields: [{ name: 'item', type: { type: 'float' }, nullable: true }],
    length: 2,
  };
}
