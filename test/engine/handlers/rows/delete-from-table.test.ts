import { Int64, Utf8, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { freshEngine, type TestEngine } from '../../../support/engine.ts';
import { lancedb } from '../../../support/request.ts';
import { expectRefusal, streamOf, TableClient } from '../../../support/table-client.ts';

let engine: TestEngine;
let table: TableClient;

beforeEach(async () => {
  engine = await freshEngine();
  table = new TableClient(engine);
  await table.send('create', { body: rowsOf([1n, 2n, null], ['a', null, 'c']) });
  await table.send('insert', { body: rowsOf([4n, 5n], ['d', 'e']) });
});

afterEach(async () => engine.close());

describe('DeleteFromTable', () => {
  it('deletes the rows of which the predicate is true, not those of which it is unknown', async () => {
    const answer = await table.send('delete', { body: { predicate: 'n > 1' } });
    expect(answer.json).toEqual({ num_deleted_rows: 3, version: 3 });
    expect(await table.rows()).toMatchObject([{ n: 1n }, { n: null }]);
  });

  it('says what it did to the audit: rows removed, none added', async () => {
    const { commit } = await table.send('delete', { body: { predicate: "s = 'a'" } });
    expect(commit).toEqual({
      kind: 'delete',
      baseVersion: 2n,
      version: 3n,
      rowsAdded: 0n,
      rowsRemoved: 1n,
      schemaChanged: false,
      table: expect.stringMatching(/^[0-9a-f-]{36}$/),
      rowsChanged: 0n,
      columns: [],
      statement: "delete where s = 'a'",
      rules: [],
    });
  });

  it('answers the LanceDB client in the same words', async () => {
    const sent = { body: { predicate: 'n = 1', branch: null }, headers: lancedb };
    expect((await table.send('delete/', sent)).json).toEqual({ num_deleted_rows: 1, version: 3 });
  });

  it('makes a version also when no row is deleted, and writes no file for it', async () => {
    const before = await table.files();
    expect(await table.json('delete', { predicate: 'n = 99' })).toEqual({
      num_deleted_rows: 0,
      version: 3,
    });
    expect((await table.files()).length).toBe(before.length + 1);
    expect(await table.rows()).toHaveLength(5);
  });

  it('deletes more of a fragment that has lost rows before', async () => {
    await table.json('delete', { predicate: 'n = 2' });
    expect(await table.json('delete', { predicate: 'n in (1, 2, 4)' })).toMatchObject({
      num_deleted_rows: 2,
    });
    expect(await table.rows()).toMatchObject([{ n: null }, { n: 5n }]);
    expect(await table.json('count_rows')).toBe(2);
  });

  it('leaves older versions as they were', async () => {
    const before = await table.rows();
    await table.json('delete', { predicate: 'n = 2' });
    const between = await table.rows();
    await table.json('delete', { predicate: 'true' });
    expect(await table.rows()).toEqual([]);
    expect(await table.rows(3)).toEqual(between);
    expect(await table.rows(2)).toEqual(before);
  });

  it('keeps the ids of the rows that are left, and never gives one twice', async () => {
    await table.json('delete', { predicate: 'n = 1 or n = 5' });
    expect((await table.rows()).map((row) => row['_rowid'])).toEqual([1n, 2n, 3n]);
    await table.json('delete', { predicate: 'true' });
    await table.send('insert', { body: rowsOf([9n], ['z']) });
    expect(await table.rows()).toEqual([{ n: 9n, s: 'z', _rowid: 5n }]);
  });

  it.each([
    ['_rowid', '_rowid in (0, 3)', [2n, null, 5n]],
    ['_rowoffset', '_rowoffset >= 3', [1n, 2n, null]],
  ])('knows rows by their %s', async (_, predicate, left) => {
    await table.json('delete', { predicate });
    expect((await table.rows()).map((row) => row['n'])).toEqual(left);
  });

  const refusals: readonly (readonly [string, object, number, string])[] = [
    ['no predicate', {}, 13, 'DeleteFromTableRequest: the field "predicate" is missing'],
    ['an empty predicate', { predicate: ' ' }, 13, 'predicate must say which rows to delete'],
    [
      'a predicate that is no text',
      { predicate: 1 },
      13,
      'DeleteFromTableRequest: the field "predicate" must be a string, not the number 1',
    ],
    [
      'an unknown column',
      { predicate: 'm = 1' },
      12,
      'predicate: expected the name of a column, found m; the nearest are n, s, _rowid, at position 1',
    ],
    [
      'what is no predicate',
      { predicate: 'n + 1' },
      13,
      'predicate must be true or false of each row, not of type int64',
    ],
    [
      'what is no SQL',
      { predicate: 'n =' },
      13,
      'predicate: expected an expression, found the end of the text, at position 4',
    ],
    [
      'a predicate that fails on a row',
      { predicate: '1 / (n - 5) > 0' },
      13,
      'predicate: expected a divisor other than zero, found 1 / 0, at position 3',
    ],
    ['an unknown branch', { predicate: 'true', branch: 'b' }, 22, 'the table has no branch "b"'],
  ];

  it.each(refusals)('refuses %s and changes nothing', async (_, body, code, sentence) => {
    const before = await table.state();
    await expectRefusal(table.json('delete', body), code, sentence);
    expect(await table.state()).toEqual(before);
  });

  it('refuses a table that does not exist', async () => {
    const refused = new TableClient(engine, 'no').json('delete', { predicate: 'true' });
    await expectRefusal(refused, 4, 'table /no does not exist');
  });
});

function rowsOf(n: readonly (bigint | null)[], s: readonly (string | null)[]): Uint8Array {
  return streamOf({ n: vectorFromArray(n, new Int64()), s: vectorFromArray(s, new Utf8()) });
}
