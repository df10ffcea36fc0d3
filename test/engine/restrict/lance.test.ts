import { randomBytes } from 'node:crypto';
import {
  Field,
  Int64,
  LargeBinary,
  Schema,
  Table,
  tableToIPC,
  vectorFromArray,
} from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Mask, Restrictions } from '../../../src/protocol/restrictions.ts';
import { ask, lancedb } from '../../support/request.ts';
import { TestPermit } from '../../support/permit.ts';
import { RestrictedEngine, streamOfRows, type TestRow } from './restricted-table.ts';

/** Lance tables, whose rows the library keeps and this engine restricts. */

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
    ['email', { mask: 'constant', value: 'hidden' }],
    ['price', 'hidden'],
  ],
);

let tested: RestrictedEngine;

beforeAll(async () => {
  tested = await RestrictedEngine.open({ arrowBody: 2 ** 26 }, () => true);
  await tested.send('t', 'create', streamOfRows(rows.slice(0, 10)), null);
  await tested.send('t', 'insert', streamOfRows(rows.slice(10)), null);
  await tested.send('t', 'delete', { predicate: 'id % 10 = 4' }, null);
  await tested.index('t', 'region', 'BITMAP');
  await tested.send('t', 'tags/create', { tag: 'old', version: 1 }, null);
  await tested.send('t', 'branches/create', { name: 'dev' }, null);
  await tested.send('t', 'insert?branch=dev', streamOfRows([{ ...rows[0]!, id: 100n }]), null);
});

afterAll(async () => tested.close());

const query = (body: object, restrictions: Restrictions | null = eu) =>
  tested.told('t', 'query', { vector: [], ...body }, restrictions);

async function ids(body: object, restrictions: Restrictions | null = eu, name = 't') {
  const told = await tested.told(
    name,
    'query',
    { vector: [], columns: ['id'], ...body },
    restrictions,
  );
  if (!('rows' in told)) throw new Error(JSON.stringify(told));
  return told.rows.map((row) => Number((row as { id: bigint }).id));
}

const seen = rows.map(({ id }) => Number(id)).filter((id) => id % 2 === 0 && id % 10 !== 4);

describe('a bound caller of a Lance table', () => {
  it('gets visible rows with masked columns alone', async () => {
    const told = await query({});
    expect(told).toEqual({
      rows: seen.map((id) => ({
        id: BigInt(id),
        region: 'eu',
        amount: id + 1,
        email: 'hidden',
        words: 'whale song',
        day: 0,
        vec: [id, 0],
      })),
    });
    expect(await tested.told('t', 'count_rows', {}, eu)).toEqual({ count: seen.length });
    expect(await tested.told('t', 'count_rows', { predicate: 'id > 20' }, eu)).toEqual({
      count: 3,
    });
  });

  it('has nothing evaluated on a hidden row', async () => {
    for (const filter of [
      '100 / amount >= 0',
      "CASE WHEN email LIKE 'secret%' THEN 1 / 0 = 1 ELSE true END",
      "CASE WHEN region = 'us' THEN 1 / 0 > 1 ELSE true END",
    ]) {
      expect(await ids({ filter }), filter).toEqual(seen);
    }
    expect(await query({ filter: '100 / amount >= 0' }, null)).toHaveProperty('refused');
    expect(await ids({ filter: "email LIKE '%@%'" })).toEqual([]);
    expect(await query({ filter: 'price > 1' })).toEqual({
      refused: expect.stringMatching(/^12 .*price/),
    });
  });

  it('has orders, limits, row ids and distances of what the caller sees', async () => {
    const order_by = [{ column_name: 'id', ascending: false }];
    expect(await ids({ order_by, k: 2, offset: 1 })).toEqual([26, 22]);
    expect(await query({ columns: ['id'], with_row_id: true, offset: 2, k: 1 })).toEqual({
      rows: [{ id: 6n, _rowid: 2n }],
    });
    // Row 11 is nearer and hidden.
    expect(await query({ vector: [11, 0], k: 1, columns: ['id', '_distance'] })).toEqual({
      rows: [{ id: 10n, _distance: 1 }],
    });
    expect(
      await query({ vector: [11, 0], k: 1, columns: ['id'], fast_search: true }),
    ).toMatchObject({ rows: [{ id: 10n }] });
  });

  it('sees old versions, tags and branches in the same way', async () => {
    expect(await ids({ version: 1 })).toEqual([0, 2, 4, 6, 8]);
    expect(await ids({ tag: 'old', filter: 'id > 4' })).toEqual([6, 8]);
    expect(await ids({ branch: 'dev' })).toEqual([...seen, 100]);
    expect(await tested.told('t', 'count_rows', { branch: 'dev' }, bound(['id > 99']))).toEqual({
      count: 1,
    });
  });

  it('has plans of the visible rows', async () => {
    const analyzed = await tested.send('t', 'analyze_plan', { vector: [], filter: 'id > 3' }, eu);
    expect(analyzed.json).toMatch(/Scan.*\[12 rows in, 12 rows out/);
    const body = { query: { vector: [], filter: 'id > 3' }, verbose: true };
    const { json: explained } = await tested.send('t', 'explain_plan', body, eu);
    expect(explained).not.toMatch(/price|region =/);
  });

  it('has a description of the visible columns, without location, metadata and counts', async () => {
    const permit = new TestPermit({ restrictionsOn: () => eu });
    for (const headers of [{}, lancedb]) {
      const sent = { body: {}, headers, permit };
      const { json } = await ask(tested.engine.backend, 'POST /v1/table/t/describe', sent);
      expect(json).toMatchObject({ table: 't', metadata: {}, properties: {} });
      expect(json).not.toHaveProperty('location');
      expect(json).not.toHaveProperty('stats');
      const { fields } = (json as unknown as { schema: { fields: { name: string }[] } }).schema;
      expect(fields.map(({ name }) => name)).not.toContain('price');
      expect(fields).toHaveLength(7);
    }
  });
});

let wide = 0;

describe('rows of a Lance table', () => {
  it.each([
    ['all', 'true', (): boolean => true],
    ['most', 'id % 3 <> 0', (id: number): boolean => id % 3 !== 0],
    ['few', 'id % 30 = 7', (id: number): boolean => id % 30 === 7],
    ['none', 'id < 0', (): boolean => false],
  ])('are read in batches, where %s are visible', async (_, sql, keeps) => {
    // Rows of 60 KB, of which a batch has some 70.
    const name = `wide${wide++}`;
    const all = Array.from({ length: 300 }, (__, id): TestRow => ({
      ...rows[0]!,
      id: BigInt(id),
      words: randomBytes(30_000).toString('hex'),
    }));
    await tested.send(name, 'create', streamOfRows(all.slice(0, 200)), null);
    await tested.send(name, 'insert', streamOfRows(all.slice(200)), null);
    const own = bound([sql], [['price', 'hidden']]);
    const kept = all.filter(({ id }) => keeps(Number(id)));
    const body = { vector: [], columns: ['id', 'words'] };
    expect(await tested.told(name, 'query', body, own)).toEqual({
      rows: kept.map(({ id, words }) => ({ id, words })),
    });
    const order_by = [{ column_name: 'words', ascending: true }];
    const sorted = kept.toSorted((one, other) => (one.words! < other.words! ? -1 : 1));
    expect(await ids({ order_by }, own, name)).toEqual(sorted.map(({ id }) => Number(id)));
    const filter = `words >= '8' AND id > 90`;
    const filtered = kept.filter(({ id, words }) => words! >= '8' && id > 90n);
    expect(await ids({ filter }, own, name)).toEqual(filtered.map(({ id }) => Number(id)));
  });

  it('of types that only Lance has are refused, and the others are answered', async () => {
    const blob = new Map([['lance-encoding:blob', 'true']]);
    const fields = [new Field('id', new Int64()), new Field('word', new LargeBinary(), true, blob)];
    const values = {
      id: vectorFromArray([1n, 2n], new Int64()),
      word: vectorFromArray([Buffer.from('a'), Buffer.from('b')], new LargeBinary()),
    };
    const table = new Table(new Schema(fields), values);
    await tested.send('typed', 'create', tableToIPC(table, 'stream'), null);
    const own = bound(['id > 1']);
    expect(await ids({}, own, 'typed')).toEqual([2]);
    const body = { vector: [], columns: ['word'] };
    const told = await tested.told('typed', 'query', body, own);
    expect(told).toEqual({
      refused:
        '0 the column "word" of /typed has a type of Lance that restrictions are not applied to: leave it out of the request',
    });
  });
});

const CLOSED =
  '15 the restriction own closes /t: it does not fit the columns of the table, or a row; an administrator can correct it';

describe('a restriction that does not fit a Lance table', () => {
  it.each([
    ['a column that is missing', bound([], [['iban', 'hidden']])],
    ['a mask of texts on a number', bound([], [['amount', { mask: 'first', n: 1 }]])],
    ['a filter of a missing column', bound(['owner = 1'])],
    ['a filter that fails on a row', bound(['100 / amount > 0'])],
  ])('closes it: %s', async (_, restrictions) => {
    expect(await query({ k: 1 }, restrictions)).toEqual({ refused: CLOSED });
    expect(await tested.told('t', 'count_rows', {}, restrictions)).toEqual({ refused: CLOSED });
  });
});

const text = { string_query: { query: 'whale', columns: ['words'] } };

describe('refusals of a Lance table', () => {
  it.each([
    [
      'query',
      { vector: [], full_text_query: text },
      'scores of a text search of a Lance table count hidden rows; use a filter',
    ],
    [
      'analyze_plan',
      { vector: [], full_text_query: text },
      'scores of a text search of a Lance table count hidden rows; use a filter',
    ],
    [
      'explain_plan',
      { query: { vector: [], full_text_query: text } },
      'scores of a text search of a Lance table count hidden rows; use a filter',
    ],
    ['describe', { with_table_uri: true }, 'its location would give its files'],
    ['describe', { vend_credentials: true }, 'credentials would give all rows of its files'],
    ['stats', {}, 'its bytes and fragments are those of hidden rows, too; count the rows instead'],
    ['index/list', {}, 'the restriction own cannot be applied to it'],
    ['index/region_idx/stats', {}, 'the restriction own cannot be applied to it'],
    ['version/list', {}, 'the restriction own cannot be applied to it'],
    ['clone', {}, 'a clone would have the hidden rows'],
  ])('are those of %s %j: %s', async (action, body, why) => {
    const made = tested.send('t', action, body, eu);
    await expect(made).rejects.toMatchObject({ row: { status: 403, code: 15 } });
    await expect(made).rejects.toThrow(why);
  });
});
