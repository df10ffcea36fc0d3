import { Int64, Utf8, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EngineTable, refusalOf, streamOf } from '../../support/engine-table.ts';

/* Reads and changes of a table whose files were changed before: what is known of them must still hold. */

let table: EngineTable;

const part = (from: number, count = 10) => {
  const ids = Array.from({ length: count }, (_, at) => from + at);
  return {
    id: vectorFromArray(ids.map(BigInt), new Int64()),
    word: vectorFromArray(
      ids.map((id) => (id % 4 === 3 ? null : `w${String(id).padStart(3, '0')}`)),
      new Utf8(),
    ),
  };
};

beforeEach(async () => {
  table = await EngineTable.open();
  await table.create(part(0), part(10), part(20));
});

afterEach(() => table.close());

/** How many of the files a query's scan reads. */
async function filesRead(filter: string): Promise<string | undefined> {
  const query = { vector: [], filter };
  const text = JSON.stringify(await table.post('explain_plan', { query }));
  return /(\d+ of \d+) files/.exec(text)?.[1];
}

async function idsWhere(filter: string): Promise<readonly number[]> {
  const ids = (await table.column('id', { filter })).map(Number);
  expect(await table.post('count_rows', { predicate: filter })).toBe(ids.length);
  return ids;
}

describe('what is known of files', () => {
  it('holds for rows that were updated, by their values and by their row ids', async () => {
    await table.post('update', { updates: [['id', 'id + 100']], predicate: 'id in (3, 12)' });
    expect(await idsWhere('id > 50')).toEqual([103, 112]);
    expect(await filesRead('id > 50')).toBe('1 of 4');
    expect(await idsWhere('_rowid in (3, 12)')).toEqual([103, 112]);
    expect(await filesRead('_rowid = 25')).toBe('1 of 4');
    expect(await idsWhere('_rowoffset = 28')).toEqual([103]);
    expect(await idsWhere('id = 3')).toEqual([]);
  });

  it('holds for rows that were deleted, whose file is counted without being read', async () => {
    await table.post('delete', { predicate: 'id between 8 and 13' });
    expect(await idsWhere('id < 15')).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 14]);
    expect(await idsWhere('_rowoffset >= 8 and _rowoffset < 11')).toEqual([14, 15, 16]);
    expect(await idsWhere('id = 9')).toEqual([]);
    expect(await table.post('delete', { predicate: 'id >= 10' })).toMatchObject({
      num_deleted_rows: 16,
    });
    expect(await filesRead('id >= 0')).toBe('1 of 1');
  });

  it('holds for columns that were added, which are null where no file has them', async () => {
    await table.post('add_columns', { new_columns: [{ name: 'twice', expression: 'id * 2' }] });
    await table.send('insert', { body: streamOf({ ...part(30), twice: part(90).id }) });
    expect(await idsWhere('twice >= 90')).toEqual(Array.from({ length: 10 }, (_, at) => 30 + at));
    expect(await filesRead('twice >= 90')).toBe('1 of 4');
    const none = { name: 'none', all_null: true, data_type: { type: 'int32' } };
    await table.post('add_columns', { new_columns: [none] });
    expect(await filesRead('none = 1 or none <> 1')).toBe('0 of 4');
    expect(await idsWhere('none is null and id > 37')).toEqual([38, 39]);
    await table.post('alter_columns', { alterations: [{ path: 'twice', rename: 'double' }] });
    expect(await idsWhere('double < 20 and id > 8')).toEqual([9]);
    expect(await filesRead('double < 20')).toBe('1 of 4');
  });

  it('holds for a column that became another type', async () => {
    const alterations = [{ path: 'id', data_type: { type: 'int32' } }];
    await table.post('alter_columns', { alterations });
    expect(await idsWhere('id >= 28')).toEqual([28, 29]);
    expect(await filesRead('id >= 28')).toBe('1 of 3');
  });

  it('holds for nulls and for texts by their beginning', async () => {
    expect(await idsWhere("word like 'w02%'")).toEqual([20, 21, 22, 24, 25, 26, 28, 29]);
    expect(await filesRead("word like 'w02%'")).toBe('1 of 3');
    expect(await filesRead('word is null')).toBe('3 of 3');
    expect(await filesRead('id is null')).toBe('0 of 3');
  });

  it('holds for what a merge matches and inserts', async () => {
    const rows = {
      id: vectorFromArray([15n, 500n, 16n], new Int64()),
      word: vectorFromArray(['x', 'y', null], new Utf8()),
    };
    const query = 'on=id&when_matched_update_all=true&when_not_matched_insert_all=true';
    const { json } = await table.send(`merge_insert?${query}`, { body: streamOf(rows) });
    expect(json).toMatchObject({ num_updated_rows: 2, num_inserted_rows: 1, num_deleted_rows: 0 });
    expect(await idsWhere("word in ('x', 'y')")).toEqual([15, 500]);
    expect(await filesRead('id = 500')).toBe('1 of 4');
    const bySource = `${query}&when_not_matched_by_source_delete=true`;
    const again = await table.send(`merge_insert?${bySource}`, { body: streamOf(rows) });
    expect(again.json).toMatchObject({ num_updated_rows: 3, num_deleted_rows: 28 });
    expect(await idsWhere('id > 0')).toEqual([15, 500, 16]);
  });

  it('does not hide a row on which an expression fails', async () => {
    const failing = '100 / (id - 5) > 0 and id > 25';
    await expect(idsWhere(failing)).rejects.toThrow(/zero/);
    const refused = await refusalOf(table.send('delete', { body: { predicate: failing } }));
    expect(refused).toMatch(/^13 predicate: .*zero/);
    expect(await idsWhere('id > 27 and 100 / (id - 5) > 0')).toEqual([28, 29]);
  });
});
