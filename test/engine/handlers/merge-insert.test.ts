import {
  Dictionary,
  Field,
  Int32,
  Int64,
  Int8,
  List,
  Schema,
  Struct,
  Utf8,
  vectorFromArray,
  type DataType,
  type Vector,
} from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { freshEngine, type TestEngine } from '../../support/engine.ts';
import { expectRefusal, streamOf, TableClient } from '../../support/table-client.ts';

let engine: TestEngine;
let table: TableClient;

type Value = string | number | bigint | null;

const types: Readonly<Record<string, DataType>> = {
  id: new Int64(),
  s: new Utf8(),
  n: new Int32(),
};

beforeEach(async () => {
  engine = await freshEngine();
  table = new TableClient(engine);
  await table.send('create', { body: rows([1n, 'a', 10], [2n, 'b', 20], [null, 'none', 0]) });
  await table.send('insert', { body: rows([4n, 'd', 40], [5n, null, null]) });
});

afterEach(async () => engine.close());

const upsert = 'on=id&when_matched_update_all=true&when_not_matched_insert_all=true';
const part: Readonly<Record<string, Vector>> = {
  id: vectorFromArray([1n], new Int64()),
  n: vectorFromArray([11], new Int32()),
};

describe('MergeInsertIntoTable', () => {
  it('updates what matches, inserts what does not, and counts both', async () => {
    const answer = await merge(upsert, [4n, 'D', 41], [9n, 'new', 90], [2n, 'B', 21]);
    expect(answer.json).toEqual({
      version: 3,
      num_updated_rows: 2,
      num_inserted_rows: 1,
      num_deleted_rows: 0,
      num_attempts: 1,
      num_rows: 3,
    });
    expect(await sorted()).toEqual([
      [0n, 1n, 'a', 10],
      [1n, 2n, 'B', 21],
      [2n, null, 'none', 0],
      [3n, 4n, 'D', 41],
      [4n, 5n, null, null],
      [5n, 9n, 'new', 90],
    ]);
  });

  it('counts rows inserted and deleted for the audit, not updated ones', async () => {
    const query = `${upsert}&when_not_matched_by_source_delete=true`;
    const { commit } = await merge(query, [1n, 'A', 1], [9n, 'new', 90]);
    expect(commit).toEqual({
      kind: 'merge',
      baseVersion: 2n,
      version: 3n,
      rowsAdded: 1n,
      rowsRemoved: 4n,
      schemaChanged: false,
      table: expect.stringMatching(/^[0-9a-f-]{36}$/),
      rowsChanged: 1n,
      columns: ['id', 's', 'n'],
      statement:
        'merge on id, when_matched_update_all true, when_not_matched_insert_all true, when_not_matched_by_source_delete true',
      rules: [],
    });
  });

  it('never matches a null: it is inserted, and deleted where it was not sent', async () => {
    const query = `${upsert}&when_not_matched_by_source_delete=true`;
    const answer = await merge(query, [null, 'null', 1], [1n, 'A', 1]);
    expect(answer.json).toMatchObject({ num_inserted_rows: 1, num_deleted_rows: 4 });
    expect(await sorted()).toEqual([
      [0n, 1n, 'A', 1],
      [5n, null, 'null', 1],
    ]);
  });

  it('gives ids that go on after those of rows that a merge inserted', async () => {
    await merge(upsert, [1n, 'A', 1], [7n, 'new', 70], [8n, 'new', 80]);
    await merge('on=id&when_not_matched_insert_all=true', [1n, 'no', 0], [10n, 'newer', 1]);
    await table.send('insert', { body: rows([11n, 'last', 2]) });
    expect((await sorted()).map(([id, key]) => [id, key]).slice(5)).toEqual([
      [5n, 7n],
      [6n, 8n],
      [7n, 10n],
      [8n, 11n],
    ]);
  });

  it('updates only where the condition is true, and does not insert or delete what matched', async () => {
    const query = new URLSearchParams(`${upsert}&when_not_matched_by_source_delete=true`);
    query.set('when_matched_update_all_filt', 'source.n > target.n');
    const answer = await merge(String(query), [1n, 'A', 9], [2n, 'B', 21], [5n, 'E', 1]);
    expect(answer.json).toMatchObject({
      num_updated_rows: 1,
      num_inserted_rows: 0,
      num_deleted_rows: 2,
    });
    expect(await sorted()).toEqual([
      [0n, 1n, 'a', 10],
      [1n, 2n, 'B', 21],
      [4n, 5n, null, null],
    ]);
  });

  it.each([
    'n < 15',
    'target.n < 15',
    'target.n < 15 and s is not null',
    '_rowid = 0 or _rowid = 2',
  ])('deletes what was not sent on the condition %s', async (filter) => {
    const query = new URLSearchParams('on=id&when_not_matched_by_source_delete=true');
    query.set('when_not_matched_by_source_delete_filt', filter);
    const answer = await merge(String(query), [4n, '', 0]);
    expect(answer.json).toMatchObject({ num_deleted_rows: 2, num_rows: 0 });
    expect((await sorted()).map(([, id]) => id)).toEqual([2n, 4n, 5n]);
  });

  it('takes several keys, and repeated ones that match nothing', async () => {
    const query = 'on=id&on=s&when_matched_update_all=true&when_not_matched_insert_all=true';
    const answer = await merge(query, [1n, 'a', 11], [1n, 'b', 12], [1n, 'b', 13], [5n, null, 14]);
    expect(answer.json).toMatchObject({ num_updated_rows: 1, num_inserted_rows: 3 });
  });

  it('updates every row that has the key', async () => {
    await table.send('insert', { body: rows([1n, 'again', 11]) });
    expect((await merge(upsert, [1n, 'A', 0])).json).toMatchObject({ num_updated_rows: 2 });
    expect((await sorted()).filter(([, id]) => id === 1n)).toEqual([
      [0n, 1n, 'A', 0],
      [5n, 1n, 'A', 0],
    ]);
  });

  it('leaves columns that are not sent as they were, and null in new rows', async () => {
    const body = streamOf({
      n: vectorFromArray([21, 99], new Int32()),
      id: vectorFromArray([2n, 9n], new Int64()),
    });
    await table.send(`merge_insert?${upsert}`, { body });
    expect((await sorted()).filter(([, id]) => id === 2n || id === 9n)).toEqual([
      [1n, 2n, 'b', 21],
      [5n, 9n, null, 99],
    ]);
  });

  it('matches fields inside columns, dictionaries and texts of any length', async () => {
    const point = new Struct([new Field('x', new Int32(), true)]);
    const columns = (xs: readonly (number | null)[], kind: string) => ({
      p: vectorFromArray(
        xs.map((x) => (x === null ? null : { x })),
        point,
      ),
      kind: vectorFromArray(
        xs.map(() => kind),
        new Dictionary(new Utf8(), new Int8()),
      ),
      note: vectorFromArray(
        xs.map((x) => `${'long '.repeat(50)}${x}`),
        new Utf8(),
      ),
    });
    const nested = new TableClient(engine, 'nested');
    await nested.send('create', { body: streamOf(columns([1, 2, null], 'old')) });
    const query = 'when_matched_update_all=true&when_not_matched_insert_all=true';
    const byField = await nested.send(`merge_insert?on=p.x&${query}`, {
      body: streamOf(columns([2, 3, null], 'new')),
    });
    expect(byField.json).toMatchObject({ num_updated_rows: 1, num_inserted_rows: 2 });
    const byTexts = await nested.send(`merge_insert?on=note&on=kind&${query}`, {
      body: streamOf(columns([2, 1, 7], 'new')),
    });
    expect(byTexts.json).toMatchObject({ num_updated_rows: 1, num_inserted_rows: 2 });
  });

  it('makes a version also when nothing changes', async () => {
    const before = await table.rows();
    const answer = await merge('on=id&when_matched_update_all=true', [99n, 'x', 1]);
    expect(answer.json).toMatchObject({ version: 3, num_rows: 0 });
    expect((await merge(upsert)).json).toMatchObject({ version: 4, num_rows: 0 });
    expect(await table.rows()).toEqual(before);
  });

  it('leaves older versions as they were', async () => {
    const before = await table.rows();
    await merge(`${upsert}&when_not_matched_by_source_delete=true`, [2n, 'B', 0], [6n, 'F', 0]);
    const between = await table.rows();
    await merge(upsert, [2n, 'BB', 0], [6n, 'FF', 0]);
    expect(await table.rows(2)).toEqual(before);
    expect(await table.rows(3)).toEqual(between);
  });

  it('lets a merge take the time that it is given', async () => {
    const answer = await merge(`${upsert}&timeout=1m30s&use_index=false&use_lsm=false`, [
      1n,
      'A',
      1,
    ]);
    expect(answer.json).toMatchObject({ num_updated_rows: 1 });
  });

  const two = (): Uint8Array => rows([1n, 'A', 1], [1n, 'B', 2]);
  const refusals: readonly (readonly [string, string, () => Uint8Array, number, string])[] = [
    [
      'no key',
      'when_matched_update_all=true',
      two,
      13,
      'on must name the columns that rows are matched on',
    ],
    [
      'nothing to do',
      'on=id&when_matched_update_all=false',
      two,
      13,
      'a merge must update, insert or delete; the request enables none of these',
    ],
    [
      'a flag that is none',
      'on=id&when_matched_update_all=perhaps',
      two,
      13,
      'the query parameter when_matched_update_all must be true or false',
    ],
    [
      'a condition of an update that is not asked for',
      'on=id&when_not_matched_insert_all=true&when_matched_update_all_filt=true',
      two,
      13,
      'when_matched_update_all_filt is a condition of when_matched_update_all, which the request does not enable',
    ],
    [
      'a condition of a deletion that is not asked for',
      `${upsert}&when_not_matched_by_source_delete_filt=true`,
      two,
      13,
      'when_not_matched_by_source_delete_filt is a condition of when_not_matched_by_source_delete, which the request does not enable',
    ],
    ['an unknown key', `${upsert}&on=m`, two, 12, 'the table has no column "m"'],
    ['a key that is named twice', `${upsert}&on=id`, two, 13, 'on names id twice'],
    [
      'a key that is not sent',
      'on=s&when_matched_update_all=true',
      () => streamOf(part),
      20,
      'the rows have no column "s" to be matched on',
    ],
    [
      'rows that match the same row',
      upsert,
      two,
      13,
      'several of the rows sent have id = 1 and match the same row',
    ],
    [
      'rows that match the same row and fulfil the condition',
      `${upsert}&when_matched_update_all_filt=source.n%20%3E%200`,
      two,
      13,
      'several of the rows sent have id = 1 and match the same row',
    ],
    [
      'a column in a condition that is not there',
      `${upsert}&when_matched_update_all_filt=source.m%20%3E%200`,
      two,
      12,
      'when_matched_update_all_filt: expected the name of a field, found m; the nearest are s, n, id, at position 1',
    ],
    [
      'a column in a condition that belongs to no side',
      `${upsert}&when_matched_update_all_filt=n%20%3E%200`,
      two,
      12,
      'when_matched_update_all_filt: expected the name of a column, found n; the nearest are source, target, at position 1',
    ],
    [
      'a condition that is none',
      `${upsert}&when_matched_update_all_filt=source.n`,
      two,
      13,
      'when_matched_update_all_filt must be true or false of each row, not of type int32',
    ],
    [
      'a condition of a deletion on what was sent',
      'on=id&when_not_matched_by_source_delete=true&when_not_matched_by_source_delete_filt=source.n%20%3E%200',
      two,
      12,
      'when_not_matched_by_source_delete_filt: expected the name of a column, found source; the nearest are s, target, id, at position 1',
    ],
    [
      'a condition that fails on a row',
      `${upsert}&when_matched_update_all_filt=1%20%2F%20(source.n%20-%201)%20%3E%200`,
      two,
      13,
      'when_matched_update_all_filt: expected a divisor other than zero, found 1 / 0, at position 3',
    ],
    [
      'a column that the table lacks',
      upsert,
      () => streamOf({ ...part, m: vectorFromArray([1], new Int32()) }),
      20,
      'The table has no column "m".',
    ],
    [
      'a column of another type',
      upsert,
      () => streamOf({ id: vectorFromArray([1], new Int32()) }),
      20,
      'Column "id" has the type int32, the table has int64.',
    ],
    [
      'a truncated stream',
      upsert,
      () => two().subarray(0, -40),
      13,
      'The stream ends after 16 of the 48 bytes of the body of a message.',
    ],
    ['no body', upsert, () => new Uint8Array(), 13, 'The stream is empty: it has no schema.'],
    [
      'a timeout that is none',
      `${upsert}&timeout=soon`,
      two,
      13,
      'timeout must be a duration such as 30s, 500ms or 1m30s',
    ],
    [
      'what takes longer than its timeout',
      `${upsert}&timeout=0s`,
      () => rows([1n, 'A', 1]),
      13,
      'the timeout of 0s passed before the rows were merged; nothing was changed',
    ],
    ['an unknown branch', `${upsert}&branch=b`, two, 22, 'the table has no branch "b"'],
  ];

  it.each(refusals)('refuses %s and changes nothing', async (_, query, body, code, sentence) => {
    const before = await table.state();
    await expectRefusal(table.send(`merge_insert?${query}`, { body: body() }), code, sentence);
    expect(await table.state()).toEqual(before);
  });

  it('refuses a key of a type without equality, and a null where none may be', async () => {
    const schema = new Schema([
      new Field('list', new List(new Field('item', new Int32(), true)), true),
      new Field('id', new Int64(), false),
    ]);
    const lists = vectorFromArray([[1]], schema.fields[0]!.type);
    const strict = new TableClient(engine, 'strict');
    await strict.send('create', {
      body: streamOf({ list: lists, id: vectorFromArray([1n], new Int64()) }, schema),
    });
    const send = (query: string, body: Uint8Array) =>
      strict.send(`merge_insert?${query}`, { body });
    await expectRefusal(
      send('on=list&when_matched_update_all=true', streamOf({ list: lists })),
      13,
      'rows cannot be matched on list, which is of type list<int32>',
    );
    await expectRefusal(
      send('on=id&when_not_matched_insert_all=true', streamOf({ list: lists })),
      20,
      'Column "id" is missing and may not be null.',
    );
    await expectRefusal(
      send(upsert, streamOf({ id: vectorFromArray([null, 2n], new Int64()) })),
      20,
      'Column "id" is not nullable, but has nulls.',
    );
    expect(await strict.version()).toBe(1);
  });

  it('refuses a table that does not exist', async () => {
    const refused = new TableClient(engine, 'no').send(`merge_insert?${upsert}`, { body: two() });
    await expectRefusal(refused, 4, 'table /no does not exist');
  });
});

function rows(...values: readonly (readonly [Value, Value, Value])[]): Uint8Array {
  return streamOf(
    Object.fromEntries(
      Object.entries(types).map(([name, type], at) => [
        name,
        vectorFromArray(
          values.map((row) => row[at]),
          type,
        ),
      ]),
    ),
  );
}

async function merge(query: string, ...values: readonly (readonly [Value, Value, Value])[]) {
  return table.send(`merge_insert?${query}`, { body: rows(...values) });
}

/** The rows as lists, by their ids. */
async function sorted(): Promise<readonly (readonly unknown[])[]> {
  return (await table.rows())
    .map(({ _rowid, id, s, n }) => [_rowid, id, s, n])
    .toSorted((left, right) => Number(left[0]) - Number(right[0]));
}
