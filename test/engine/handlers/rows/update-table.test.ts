import {
  Dictionary,
  Field,
  FixedSizeBinary,
  FixedSizeList,
  Float16,
  Float32,
  Int32,
  Int64,
  Int8,
  type RecordBatch,
  Schema,
  Struct,
  Table,
  tableToIPC,
  TimestampMillisecond,
  Utf8,
  vectorFromArray,
  type Vector,
} from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { batchOf } from '../../../../src/arrow/select.ts';
import { freshEngine, type TestEngine } from '../../../support/engine.ts';
import { expectRefusal, TableClient } from '../../../support/table-client.ts';

let engine: TestEngine;
let table: TableClient;

const item = new Field('item', new Float32(), true);
const fields = [
  new Field('n', new Int64(), true),
  new Field('i', new Int32(), false),
  new Field('s', new Utf8(), true),
  new Field('kind', new Dictionary(new Utf8(), new Int8()), true),
  new Field('half', new Float16(), true),
  new Field('v', new FixedSizeList(2, item), true),
  new Field('at', new TimestampMillisecond(), true),
  new Field('hash', new FixedSizeBinary(2), true),
  new Field('p', new Struct([new Field('x', new Int32(), true)]), true),
];
const schema = new Schema(fields);

beforeEach(async () => {
  engine = await freshEngine();
  table = new TableClient(engine);
  await table.send('create', { body: stream(batch(1, 2)) });
  await table.send('insert', { body: stream(batch(3, 4)) });
});

afterEach(async () => engine.close());

describe('UpdateTable', () => {
  it('sets properties on the table with the rows, beside those that it has', async () => {
    const set = (properties: object) =>
      table.send('update', { body: { updates: [['n', '1']], predicate: 'i = 1', properties } });
    expect((await set({ owner: 'me', tier: 'a' })).json).toEqual({
      rows_updated: 1,
      updated_rows: 1,
      version: 3,
      properties: { owner: 'me', tier: 'a' },
    });
    expect((await set({ tier: 'b' })).json).toMatchObject({
      properties: { owner: 'me', tier: 'b' },
    });
    expect((await set({})).json).not.toHaveProperty('properties');
    const kept = { properties: { owner: 'me', tier: 'b' }, version: 5 };
    expect((await table.send('describe')).json).toMatchObject(kept);
    await expectRefusal(
      set({ more: 'x'.repeat(65_532) }),
      13,
      'properties may have at most 65536 bytes, not 65548',
    );
    await expectRefusal(
      set({ more: 'x'.repeat(65_533) }),
      13,
      'properties may have at most 65536 bytes, not 65537',
    );
    expect((await table.send('describe')).json).toMatchObject(kept);
  });

  it('gives columns new values and answers the count under the names of both dialects', async () => {
    const answer = await update([['n', 'n * 10']], 'i >= 2');
    expect(answer.json).toEqual({ rows_updated: 3, updated_rows: 3, version: 3 });
    expect(await column('n')).toEqual(
      [10n, 200n, 300n, 400n].map((n) => (n === 10n ? 1n : n / 10n)),
    );
  });

  it('updates all rows without a predicate', async () => {
    expect((await update([['s', "'all'"]])).json).toMatchObject({ updated_rows: 4 });
    expect(await column('s')).toEqual(['all', 'all', 'all', 'all']);
  });

  it('counts a row that is updated as neither added nor removed', async () => {
    const { commit } = await update([['n', '0']]);
    expect(commit).toEqual({
      kind: 'update',
      baseVersion: 2n,
      version: 3n,
      rowsAdded: 0n,
      rowsRemoved: 0n,
      schemaChanged: false,
      table: expect.stringMatching(/^[0-9a-f-]{36}$/),
      rowsChanged: 4n,
      columns: ['n'],
      statement: 'update set n = 0',
      rules: [],
    });
  });

  it('computes every value from the row as it was', async () => {
    await update([
      ['n', 'i + 100'],
      ['i', 'cast(n as int) + 1'],
    ]);
    expect(await column('n')).toEqual([101n, 102n, 103n, 104n]);
    expect(await column('i')).toEqual([2, 3, 4, 5]);
  });

  it('keeps the ids of rows, also when they are updated again, and the columns that are not updated', async () => {
    const before = await table.rows();
    await update([['s', "'once'"]], 'i = 2');
    await update([['s', "'twice'"]], '_rowid = 1 or i = 4');
    const after = byId(await table.rows());
    expect(after).toEqual(
      byId(before).map((row) =>
        ['1', '3'].includes(String(row['_rowid'])) ? { ...row, s: 'twice' } : row,
      ),
    );
  });

  it('leaves older versions as they were', async () => {
    const before = await table.rows();
    await update([['s', "'new'"]], 'i > 1');
    const between = await table.rows();
    await table.json('delete', { predicate: 'i = 1' });
    await update([['s', "'newer'"]]);
    expect(await table.rows(2)).toEqual(before);
    expect(await table.rows(3)).toEqual(between);
  });

  it('makes a version also when no row is updated', async () => {
    expect((await update([['n', '0']], 'i = 99')).json).toMatchObject({
      rows_updated: 0,
      version: 3,
    });
  });

  const values: readonly (readonly [string, string, unknown])[] = [
    ['n', 'NULL', null],
    ['n', "'7'", 7n],
    ['n', '2.0', 2n],
    ['i', 'n', 1],
    ['s', 'n', '1'],
    ['s', "concat(s, '!')", 's1!'],
    ['kind', "'a new kind'", 'a new kind'],
    ['kind', 's', 's1'],
    ['half', '1.5', 1.5],
    ['half', 'half * 2', 2],
    ['half', 'NULL', null],
    ['v', '[0.5, 2]', [0.5, 2]],
    ['v', 'NULL', null],
    ['at', "'2024-02-29 12:00:00'", Date.UTC(2024, 1, 29, 12)],
    ['at', "date '2024-02-29'", Date.UTC(2024, 1, 29)],
    ['hash', "X'0102'", new Uint8Array([1, 2])],
    ['p', 'NULL', null],
    ['p', 'p', { x: 1 }],
  ];

  it.each(values)('puts into %s the value of %s', async (name, expression, expected) => {
    await update([[name, expression]], 'i = 1');
    const row = byId(await table.rows())[0]!;
    expect(row[name]).toEqual(expected);
  });

  const refusals: readonly (readonly [string, object, number, string])[] = [
    ['an unknown column', { updates: [['m', '1']] }, 12, 'the table has no column "m"'],
    [
      'an unknown column in an expression',
      { updates: [['n', 'm']] },
      12,
      'column "n": expected the name of a column, found m; the nearest are n, i, s, at position 1',
    ],
    [
      'an unknown column in the predicate',
      { updates: [['n', '1']], predicate: 'm = 1' },
      12,
      'predicate: expected the name of a column, found m; the nearest are n, i, s, at position 1',
    ],
    [
      'a column that is updated twice',
      {
        updates: [
          ['n', '1'],
          ['`n`', '2'],
        ],
      },
      13,
      'the column "n" is updated twice',
    ],
    [
      'a field inside a column',
      { updates: [['p.x', '1']] },
      13,
      'p.x lies inside a column; only whole columns are updated',
    ],
    ['no column', { updates: [] }, 13, 'updates must name at least one column'],
    [
      'a pair that is none',
      { updates: [['n', '1', '2']] },
      13,
      'each of updates must be a column and the SQL of its new value',
    ],
    [
      'what is no SQL',
      { updates: [['n', '1 +']] },
      13,
      'column "n": expected an expression, found the end of the text, at position 4',
    ],
    [
      'a value of another type',
      { updates: [['n', "date '2020-01-01'"]] },
      13,
      'column "n": expected a value of type int64, found date, at position 1',
    ],
    [
      'a literal that does not fit, even where no row is updated',
      { updates: [['i', '3000000000']], predicate: 'false' },
      13,
      'column "i": expected a value that int32 can hold, found 3000000000 of int64, at position 1',
    ],
    [
      'a value that does not fit',
      { updates: [['i', 'n * 1000000000']] },
      13,
      'column "i": expected a value that int32 can hold, found 3000000000 of int64, at position 3',
    ],
    [
      'a value that would lose its fraction',
      { updates: [['n', 'n / 2.0']] },
      13,
      'column "n": expected a value that int64 can hold, found 0.5 of float64, at position 3',
    ],
    [
      'a text that is no number',
      { updates: [['n', 's']] },
      13,
      'column "n": expected a value that int64 can hold, found \'s1\' of string, at position 1',
    ],
    [
      'a list of another length',
      { updates: [['v', '[1, 2, 3]']] },
      13,
      'column "v": expected a list of 2 values, found one of 3, at position 1',
    ],
    [
      'a binary of another length',
      { updates: [['hash', "X'010203'"]] },
      13,
      'column "hash": expected a binary of 2 bytes, found one of 3, at position 1',
    ],
    [
      'a number beyond half floats',
      { updates: [['half', '70000.0']] },
      13,
      'column "half": expected a value that float16 can hold, found 70000',
    ],
    [
      'a null where none may be',
      { updates: [['i', 'NULL']] },
      20,
      'Column "i" is not nullable, but has nulls.',
    ],
    [
      'a value that fails on a row',
      { updates: [['n', '1 / (n - 4)']] },
      13,
      'column "n": expected a divisor other than zero, found 1 / 0, at position 3',
    ],
    [
      'an unknown branch',
      { updates: [['n', '1']], branch: 'b' },
      22,
      'the table has no branch "b"',
    ],
  ];

  it.each(refusals)('refuses %s and changes nothing', async (_, body, code, sentence) => {
    const before = await table.state();
    await expectRefusal(table.json('update', body), code, sentence);
    expect(await table.state()).toEqual(before);
  });

  it('refuses a table that does not exist', async () => {
    const refused = new TableClient(engine, 'no').json('update', { updates: [['n', '1']] });
    await expectRefusal(refused, 4, 'table /no does not exist');
  });
});

async function update(updates: readonly (readonly [string, string])[], predicate?: string) {
  return table.send('update', { body: { updates, predicate: predicate ?? null } });
}

async function column(name: string): Promise<readonly unknown[]> {
  return byId(await table.rows()).map((row) => row[name]);
}

function byId(rows: Awaited<ReturnType<TableClient['rows']>>) {
  return rows.toSorted((left, right) => Number(left['_rowid']) - Number(right['_rowid']));
}

function batch(...ids: readonly number[]): RecordBatch {
  const of = (index: number, make: (id: number) => unknown): Vector =>
    vectorFromArray(ids.map(make), fields[index]!.type);
  const columns = [
    of(0, BigInt),
    of(1, (id) => id),
    of(2, (id) => `s${id}`),
    of(3, (id) => (id % 2 === 0 ? 'even' : 'odd')),
    of(4, (id) => id),
    of(5, (id) => [id, -id]),
    of(6, (id) => id),
    of(7, (id) => new Uint8Array([id, id])),
    of(8, (id) => ({ x: id })),
  ];
  return batchOf(schema, columns, ids.length);
}

function stream(...batches: readonly RecordBatch[]): Uint8Array {
  return tableToIPC(new Table([...batches]), 'stream');
}
