import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Int64, Table, Utf8, tableToIPC, vectorFromArray } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Mask, Restrictions } from '../../../src/protocol/restrictions.ts';
import { lancedb, ask } from '../../support/request.ts';
import { TestPermit } from '../../support/permit.ts';
import {
  RestrictedEngine,
  restrictionsOf,
  streamOfRows,
  type TestRow,
} from './restricted-table.ts';

const rows = Array.from({ length: 30 }, (_, id): TestRow => ({
  id: BigInt(id),
  region: id % 2 === 0 ? 'eu' : 'us',
  // A division by it fails on a hidden row only.
  amount: id === 7 ? 0 : id + 1,
  price: id / 2,
  email: id === 9 ? 'secret@x.org' : `${id}@x.org`,
  words: id === 11 ? 'unheard word' : 'whale song',
  day: 0,
  vec: [id, 0],
}));

const eu: Restrictions = restrictionsOf(
  [{ sql: "region = 'eu'", keeps: () => true }],
  [
    { column: 'email', as: { mask: 'constant', value: 'hidden' }, value: () => '' },
    { column: 'price', as: 'hidden', value: () => '' },
  ],
);

const CLOSED =
  '15 the restriction own closes /t: it does not fit the columns of the table, or a row; an administrator can correct it';

let tested: RestrictedEngine;

beforeAll(async () => {
  tested = await RestrictedEngine.open();
  await tested.send('t', 'create', streamOfRows(rows.slice(0, 15)), null);
  await tested.send('t', 'insert', streamOfRows(rows.slice(15)), null);
  await tested.index('t', 'words', 'FTS');
  await tested.index('t', 'id', 'BTREE');
});

afterAll(async () => tested.close());

const query = (body: object, restrictions: Restrictions | null = eu) =>
  tested.told('t', 'query', { vector: [], ...body }, restrictions);

async function ids(body: object): Promise<readonly number[]> {
  const told = await query({ columns: ['id'], ...body });
  if (!('rows' in told)) throw new Error(JSON.stringify(told));
  return told.rows.map((row) => Number((row as { id: bigint }).id));
}

describe('what a bound caller asks', () => {
  it('is never evaluated on a hidden row: neither errors nor results tell of it', async () => {
    for (const filter of [
      '100 / amount >= 0',
      "CASE WHEN email LIKE 'secret%' THEN 1 / 0 = 1 ELSE true END",
      "CAST(CASE WHEN id = 7 THEN 'x' ELSE '1' END AS int) = 1",
      "CASE WHEN region = 'us' THEN 1 / 0 > 1 ELSE true END",
    ]) {
      expect((await ids({ filter })).length, filter).toBe(15);
    }
    expect(await query({ filter: '100 / amount >= 0' }, null)).toMatchObject({
      refused: expect.stringContaining('divisor'),
    });
  });

  it('sees masked values only, wherever a value can be asked for', async () => {
    expect(await ids({ filter: "email LIKE 'secret%' OR email LIKE '%@%'" })).toEqual([]);
    expect(await ids({ filter: "email = 'hidden'", k: 2 })).toEqual([0, 2]);
    expect(await query({ columns: { e: 'upper(email)' }, k: 1 })).toEqual({
      rows: [{ e: 'HIDDEN' }],
    });
    const order_by = [{ column_name: 'email', ascending: false }];
    expect(await ids({ order_by, k: 3 })).toEqual([0, 2, 4]);
  });

  it('knows no hidden column', async () => {
    const unknown = { refused: expect.stringContaining('12 ') };
    expect(await query({ columns: ['price'] })).toMatchObject(unknown);
    expect(await query({ filter: 'price > 1' })).toMatchObject(unknown);
    expect(await query({ order_by: [{ column_name: 'price' }] })).toMatchObject(unknown);
    const told = await query({ k: 1 });
    expect(Object.keys((told as { rows: object[] }).rows[0]!)).not.toContain('price');
  });

  it('is counted, numbered and cut among visible rows', async () => {
    const counts = await Promise.all([
      tested.told('t', 'count_rows', {}, eu),
      tested.told('t', 'count_rows', {}, null),
      tested.told('t', 'count_rows', { predicate: 'id < 10' }, eu),
    ]);
    expect(counts).toEqual([{ count: 15 }, { count: 30 }, { count: 5 }]);
    expect(await ids({ offset: 13 })).toEqual([26, 28]);
    const placed = await query({ columns: ['_rowoffset'], with_row_id: true, offset: 14 });
    expect(placed).toEqual({ rows: [{ _rowoffset: 14n, _rowid: 14n }] });
    expect(await ids({ vector: [9, 0], k: 2, fast_search: true })).toEqual([8, 10]);
  });

  it('searches texts by the statistics of visible rows', async () => {
    const search = (words: string) => ({
      full_text_query: { string_query: { query: words, columns: ['words'] } },
    });
    expect(await ids({ ...search('unheard'), k: 5 })).toEqual([]);
    expect((await ids({ ...search('whale'), k: 50 })).length).toBe(15);
  });

  it('is planned over visible rows', async () => {
    const body = { query: { vector: [], filter: 'id > 3', columns: ['id'] }, verbose: true };
    const { json } = await tested.send('t', 'explain_plan', body, eu);
    expect(json).toContain('15 rows, columns id');
    expect(json).not.toContain('30');
    expect(json).not.toContain('region');
    const analyzed = await tested.send('t', 'analyze_plan', { vector: [], filter: 'id > 3' }, eu);
    expect(analyzed.json).toMatch(/Scan.*\[15 rows in, 15 rows out/);
  });

  it('has a description of the visible columns, without location, metadata and counts', async () => {
    const permit = new TestPermit({ restrictionsOn: () => eu });
    for (const headers of [{}, lancedb]) {
      const { json } = await ask(tested.engine.backend, 'POST /v1/table/t/describe', {
        body: {},
        headers,
        permit,
      });
      expect(json).toMatchObject({ table: 't', metadata: {}, properties: {} });
      expect(json).not.toHaveProperty('location');
      expect(json).not.toHaveProperty('stats');
      const { fields } = (json as unknown as { schema: { fields: { name: string }[] } }).schema;
      expect(fields.map(({ name }) => name)).toEqual([
        'id',
        'region',
        'amount',
        'email',
        'words',
        'day',
        'vec',
      ]);
    }
    const located = ask(tested.engine.backend, 'POST /v1/table/t/describe', {
      body: { with_table_uri: true },
      permit,
    });
    await expect(located).rejects.toThrow('its location would give its files');
  });

  it('is not answered from what others were told', async () => {
    for (const restrictions of [null, eu, null, eu]) {
      const told = await tested.told('t', 'count_rows', {}, restrictions);
      expect(told).toEqual({ count: restrictions === null ? 30 : 15 });
    }
  });
});

const masked = (column: string, as: Mask | 'hidden'): Restrictions => ({
  names: ['own'],
  rows: [],
  columns: [{ restriction: 'own', column, as }],
});
const filtered = (...sql: readonly string[]): Restrictions => ({
  names: ['own'],
  rows: sql.map((each) => ({ restriction: 'own', sql: each })),
  columns: [],
});

describe('a restriction that does not fit', () => {
  it.each([
    ['a column that is missing', masked('iban', 'hidden')],
    ['a mask of texts on a number', masked('amount', { mask: 'sha256' })],
    ['a mask of texts on a vector', masked('vec', { mask: 'first', n: 1 })],
    ['a value that the column cannot hold', masked('amount', { mask: 'constant', value: 'x' })],
    ['half a step of an integer', masked('amount', { mask: 'round', to: 0.5 })],
    ['a constant vector', masked('vec', { mask: 'constant', value: 1 })],
    ['a filter of a missing column', filtered('owner = 1')],
    ['a filter that is no condition', filtered('id + 1')],
    ['a filter that ends inside of another', filtered('id = 1) OR (true', 'true')],
    ['a filter that fails on a row', filtered('100 / amount > 0')],
  ])('closes the table: %s', async (_, restrictions) => {
    expect(await query({ k: 1 }, restrictions)).toEqual({ refused: CLOSED });
    expect(await tested.told('t', 'count_rows', {}, restrictions)).toEqual({ refused: CLOSED });
  });

  it('lets a vector be null or hidden', async () => {
    expect(await query({ columns: ['vec'], k: 1 }, masked('vec', { mask: 'null' }))).toEqual({
      rows: [{ vec: null }],
    });
  });
});

describe('tables and operations to which restrictions are not applied', () => {
  it('are refused by the engine as well as by the gateway', async () => {
    const actions = ['stats', 'index/list', 'version/list', 'tags/list', 'clone'];
    for (const action of actions) {
      await expect(tested.send('t', action, {}, eu), action).rejects.toThrow(
        'on /t: the restriction own cannot be applied to it',
      );
    }
  });

  it('are those whose rows other engines keep', async () => {
    await ask(tested.engine.backend, 'POST /v1/table/declared/declare', { body: {} });
    for (const action of ['query', 'count_rows', 'describe', 'explain_plan', 'analyze_plan']) {
      const body = action === 'explain_plan' ? { query: { vector: [] } } : { vector: [] };
      await expect(tested.send('declared', action, body, eu), action).rejects.toThrow(
        'its rows are not kept by this engine',
      );
    }
  });
});

describe('threads', () => {
  it('answer of visible rows, too', async () => {
    const threaded = await RestrictedEngine.open({ workers: 1, arrowBody: 2 ** 24 });
    try {
      const count = 120_000;
      const values = Array.from({ length: count }, (_, id) => BigInt(id));
      const table = new Table({
        id: vectorFromArray(values, new Int64()),
        region: vectorFromArray(
          values.map((id) => (id % 3n === 0n ? 'eu' : 'us')),
          new Utf8(),
        ),
      });
      await threaded.send('t', 'create', tableToIPC(table, 'stream'), null);
      const own = filtered("region = 'eu'");
      // A sort of this many rows runs on a worker thread.
      const order_by = [{ column_name: 'id', ascending: false }];
      const body = { vector: [], columns: ['id'], order_by, k: 2, offset: 39_000 };
      expect(await threaded.told('t', 'query', body, filtered())).toMatchObject({ rows: [{}, {}] });
      expect(await threaded.told('t', 'query', { ...body, k: 1, offset: 39_999 }, own)).toEqual({
        rows: [{ id: 0n }],
      });
      expect((await threaded.send('t', 'analyze_plan', body, filtered('id >= 0'))).json).toContain(
        '120000 rows in',
      );
    } finally {
      await threaded.close();
    }
  });
});

describe('visible snapshots', () => {
  it('are made by the step that applies restrictions, of rows of the service, and in threads', () => {
    const files = readdirSync('src', { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .filter((name) =>
        /\basVisible\b|as VisibleSnapshot/.test(readFileSync(join('src', name), 'utf8')),
      );
    expect(files.toSorted()).toEqual([
      'engine/query/restrict/visible-rows.ts',
      'engine/query/scan/virtual-rows.ts',
      'engine/query/scan/visible-snapshot.ts',
      'engine/workers/task.ts',
    ]);
  });
});
