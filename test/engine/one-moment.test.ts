import { Int64, tableFromIPC, TimestampNanosecond, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { freshEngine, type TestEngine } from '../support/engine.ts';
import { bytesOf, rowsOf } from '../support/query-answer.ts';
import { streamOf, TableClient } from '../support/table-client.ts';

let engine: TestEngine;
let table: TableClient;

beforeEach(async () => {
  engine = await freshEngine();
  table = new TableClient(engine);
  const none = () => vectorFromArray([null, null, null], new TimestampNanosecond());
  const body = streamOf({
    k: vectorFromArray([1n, 2n, 3n], new Int64()),
    a: none(),
    b: none(),
  });
  await table.send('create', { body });
  // A clock that continues by a day each time it is asked.
  let days = 20_000;
  vi.spyOn(Date, 'now').mockImplementation(() => ++days * 86_400_000);
});

afterEach(async () => {
  vi.restoreAllMocks();
  await engine.close();
});

async function query(body: object) {
  const answer = await table.send('query', { body: { vector: [], ...body } });
  return rowsOf(tableFromIPC(await bytesOf(answer.body)));
}

describe('the expressions of a request see one moment', () => {
  it('in the columns and the filter of a query', async () => {
    await table.json('update', { updates: [['a', 'now()']] });
    const same = {
      k: 'k',
      x: 'now() = current_timestamp',
      y: 'current_date = cast(now() as date)',
    };
    const found = await query({ columns: same, filter: 'a <= now()' });
    expect(found.map(({ x, y }) => [x, y])).toEqual([
      [true, true],
      [true, true],
      [true, true],
    ]);
    const moments = await query({ columns: { x: 'now()', y: 'now()' } });
    expect(moments.map(({ x, y }) => Number(x) - Number(y))).toEqual([0, 0, 0]);
  });

  it('in an update, also when it is computed again after a conflict', async () => {
    await Promise.all(
      Array.from({ length: 8 }, () =>
        table.json('update', {
          updates: [
            ['a', 'now()'],
            ['b', 'now()'],
          ],
          predicate: 'a is distinct from now()',
        }),
      ),
    );
    const found = await table.rows();
    expect(found.map(({ a, b }) => Number(a) - Number(b))).toEqual([0, 0, 0]);
    expect(new Set(found.map(({ a }) => Number(a))).size).toBe(1);
  });

  it('in columns that are added', async () => {
    const new_columns = ['x', 'y'].map((name) => ({ name, expression: 'now()' }));
    await table.json('add_columns', { new_columns });
    const found = await table.rows();
    expect(found.map(({ x, y }) => Number(x) - Number(y))).toEqual([0, 0, 0]);
  });
});
