import { Field, Int32, Int64, Schema, Utf8, vectorFromArray } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { batchOf } from '../../../src/arrow/select.ts';
import type { JsonValue } from '../../../src/protocol/json.ts';
import { answerOf, rowsOf } from '../../support/query-answer.ts';
import { storeTable, type StoredTable } from '../../support/stored-table.ts';
import { vectorsOf, vectorType } from '../../support/vector-column.ts';

/* The rows that a search found, in another order than that of their distances. */

const schema = new Schema([
  new Field('id', new Int64(), false),
  new Field('word', new Utf8(), true),
  new Field('even', new Int32(), false),
  new Field('vec', vectorType(1), false),
]);

const words = ['b', null, 'a', 'c', 'a', null, 'b', 'd', 'a', 'e'];

let stored: StoredTable;

beforeAll(async () => {
  const batch = (from: number) => {
    const ids = [0, 1, 2, 3, 4].map((id) => from + id);
    return batchOf(
      schema,
      [
        vectorFromArray(ids.map(BigInt), new Int64()),
        vectorFromArray(
          ids.map((id) => words[id]),
          new Utf8(),
        ),
        vectorFromArray(
          ids.map((id) => id % 2),
          new Int32(),
        ),
        vectorsOf(
          1,
          ids.map((id) => [id]),
        ),
      ],
      5,
    );
  };
  stored = await storeTable(schema, [[batch(0)], [batch(5)]]);
});

afterAll(() => stored.remove());

async function found(body: Record<string, JsonValue>) {
  const rows = rowsOf(await answerOf(stored, { columns: ['id'], ...body }));
  return rows.map((row) => Number(row['id']));
}

const byWord = [{ column_name: 'word' }];

describe('the order of a search', () => {
  it('is that of the rows that were found; of equals the nearer comes first', async () => {
    expect(await found({ vector: [3], k: 7 })).toEqual([3, 2, 4, 1, 5, 0, 6]);
    expect(await found({ vector: [3], k: 7, order_by: byWord })).toEqual([2, 4, 0, 6, 3, 1, 5]);
  });

  it('has nulls first or last, as it says', async () => {
    const first = [{ column_name: 'word', nulls_first: true }];
    expect(await found({ vector: [3], k: 4, order_by: first })).toEqual([1, 2, 4, 3]);
    const down = [{ column_name: 'word', ascending: false, nulls_first: false }];
    expect(await found({ vector: [3], k: 4, order_by: down })).toEqual([3, 2, 4, 1]);
  });

  it('may be by the distance, the row id and the place of a row, and by several', async () => {
    const far = [{ column_name: '_distance', ascending: false }];
    expect(await found({ vector: [0], k: 3, order_by: far })).toEqual([2, 1, 0]);
    const rowId = [{ column_name: '_rowid', ascending: false }];
    expect(await found({ vector: [2], k: 4, order_by: rowId })).toEqual([3, 2, 1, 0]);
    const several = [{ column_name: 'even' }, { column_name: '_rowoffset', ascending: false }];
    expect(await found({ vector: [3], k: 5, order_by: several })).toEqual([4, 2, 5, 3, 1]);
  });

  it('comes before the window, which is one of the ordered rows', async () => {
    const body = { vector: [3], order_by: [{ column_name: 'id' }] };
    expect(await found({ ...body, k: 2, offset: 1 })).toEqual([3, 4]);
    expect(await found({ ...body, k: 3, offset: 20 })).toEqual([]);
  });

  it('comes behind both filters', async () => {
    const body = { vector: [3], k: 5, filter: 'even = 0 and word is not null', order_by: byWord };
    expect(await found(body)).toEqual([2, 4, 8, 0, 6]);
    expect(await found({ ...body, prefilter: false })).toEqual([2, 4]);
  });

  it('is one for each of several vectors', async () => {
    const body = { vector: [[0], [9]], k: 3, order_by: byWord };
    const rows = rowsOf(await answerOf(stored, { ...body, columns: ['id', '_distance'] }));
    expect(rows.map((row) => [row['query_index'], Number(row['id']), row['_distance']])).toEqual([
      [0, 2, 4],
      [0, 0, 0],
      [0, 1, 1],
      [1, 8, 1],
      [1, 7, 4],
      [1, 9, 0],
    ]);
  });

  it('may find nothing', async () => {
    const body = { vector: [3], k: 5, order_by: byWord };
    expect(await found({ ...body, filter: 'id > 100' })).toEqual([]);
    expect(await found({ ...body, filter: 'even = 7', prefilter: false })).toEqual([]);
  });
});
