import type { Connection, Query, Table, VectorQuery } from '@lancedb/lancedb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { arrow, connectTo, lancedb, refusalOf, rowsOf, tableOf } from './lancedb.ts';

/**
 * One Lance table, written by a Lance client through the catalog: a LanceDB client of the service
 * reads the same as the Lance client that opens the folder.
 */

const { Dictionary, Field, FixedSizeList, Float32, Int32, Int8, List, Uint8, Utf8 } = arrow;

let service: Service;
let writer: Connection;
let reader: Connection;
/** The table as the Lance client opens it, and as the service answers for it. */
let own: Table;
let served: Table;

const ROWS = 600;
const numbers = Array.from({ length: ROWS }, (_, id) => id);
const WORDS = ['red', 'green', 'blue', 'small fox', 'a quick fox', 'lazy dog'];

beforeAll(async () => {
  service = await Service.start();
  writer = await lancedb.connectNamespace('rest', {
    uri: service.url,
    headers: { 'x-api-key': ADMIN_KEY },
  });
  reader = await connectTo(service);
  own = await writer.createTable('mixed', mixed());
  await own.createIndex('words', { config: lancedb.Index.fts({ withPosition: true }) });
  await own.createIndex('title', { config: lancedb.Index.fts() });
  await own.createIndex('place', {
    config: lancedb.Index.ivfPq({ numPartitions: 4, numSubVectors: 2, distanceType: 'l2' }),
  });
  await own.createIndex('id', { config: lancedb.Index.btree() });
  await own.add(mixed(3));
  served = await reader.openTable('mixed');
});

afterAll(() => service.stop());

function mixed(rows = ROWS) {
  const some = numbers.slice(0, rows);
  const vectors = (type: InstanceType<typeof Float32 | typeof Uint8>, length: number) =>
    new FixedSizeList(length, new Field('item', type, true));
  const place = (id: number) => Array.from({ length: 8 }, (_, at) => Math.sin(id * (at + 1)));
  return tableOf([
    { name: 'id', type: new Int32(), values: some },
    { name: 'words', type: new Utf8(), values: some.map((id) => `${WORDS[id % 6]} ${id % 50}`) },
    { name: 'title', type: new Utf8(), values: some.map((id) => WORDS[(id + 1) % 6]) },
    { name: 'place', type: vectors(new Float32(), 8), values: some.map(place) },
    {
      name: 'bits',
      type: vectors(new Uint8(), 2),
      values: some.map((id) => [id % 256, id >> 8]),
    },
    {
      name: 'patches',
      type: new List(new Field('item', vectors(new Float32(), 2), true)),
      values: some.map((id) => [
        [id, 1],
        [1, id % 7],
      ]),
    },
    {
      name: 'kind',
      type: new Dictionary(new Utf8(), new Int8()),
      values: some.map((id) => (id % 7 === 0 ? null : `kind ${id % 3}`)),
    },
  ]);
}

const PLACE = [0.1, 0.5, -0.2, 0.3, 0, 0.4, 0.9, -1];

function near(table: Table): VectorQuery {
  return table.query().nearestTo(PLACE).column('place');
}

type Ask = (table: Table) => Query | VectorQuery;

const asks: Readonly<Record<string, Ask>> = {
  'all rows': (table) => table.query().select(['id', 'words', 'place', 'bits', 'patches']),
  'a column with a dictionary': (table) => table.query().select(['id', 'kind']),
  'a filter': (table) => table.query().where("id % 100 < 3 AND words LIKE '%fox%'"),
  'a filter that keeps nothing': (table) => table.query().where('id < 0'),
  expressions: (table) =>
    table.query().where('id < 4').select({ twice: 'id * 2', upper: 'upper(words)' }),
  'an order, a limit and an offset': (table) =>
    table
      .query()
      .orderBy([{ columnName: 'title', ascending: false }, { columnName: 'id' }])
      .limit(7)
      .offset(5),
  'row ids': (table) => table.query().where('id < 3').select(['id']).withRowId(),
  'the nearest by the index': near,
  'the nearest with probes': (table) => near(table).nprobes(1).limit(5),
  'the nearest with bounds of probes': (table) =>
    near(table).minimumNprobes(1).maximumNprobes(4).limit(5),
  'the nearest, refined': (table) => near(table).refineFactor(4).limit(6),
  'the nearest without the index': (table) => near(table).bypassVectorIndex().limit(6),
  'the nearest by cosine': (table) =>
    near(table).bypassVectorIndex().distanceType('cosine').limit(6),
  'the nearest by dot': (table) => near(table).bypassVectorIndex().distanceType('dot').limit(6),
  'the nearest by hamming': (table) => table.query().nearestTo([3, 1]).column('bits').limit(9),
  'the nearest within bounds': (table) =>
    near(table).bypassVectorIndex().distanceRange(2, 4).limit(1000),
  'the nearest of some rows': (table) => near(table).where('id < 40').limit(5),
  'some of the nearest rows': (table) => near(table).where('id < 300').postfilter().limit(20),
  'the nearest of indexed rows': (table) => near(table).fastSearch().limit(20),
  'the nearest to several vectors': (table) =>
    near(table).addQueryVector(PLACE.toReversed()).bypassVectorIndex().limit(3),
  'the nearest by late interaction': (table) =>
    table
      .query()
      .nearestTo([1, 2])
      .addQueryVector([2, 1])
      .column('patches')
      .distanceType('cosine')
      .limit(5),
  words: (table) =>
    table
      .query()
      .fullTextSearch('fox', { columns: ['words'] })
      .limit(500),
  'words in several columns': (table) =>
    table
      .query()
      .fullTextSearch(new lancedb.MultiMatchQuery('fox 7', ['words', 'title']))
      .limit(500),
  'misspelt words': (table) =>
    table
      .query()
      .fullTextSearch(new lancedb.MatchQuery('quik', 'words', { fuzziness: 1 }))
      .limit(500),
  'a phrase': (table) =>
    table.query().fullTextSearch(new lancedb.PhraseQuery('quick fox', 'words')).limit(500),
  'a boosted search': (table) =>
    table
      .query()
      .fullTextSearch(
        new lancedb.BoostQuery(
          new lancedb.MatchQuery('fox', 'words'),
          new lancedb.MatchQuery('small', 'words'),
          { negativeBoost: 0.25 },
        ),
      )
      .limit(500),
  'a boolean search': (table) =>
    table
      .query()
      .fullTextSearch(
        new lancedb.BooleanQuery([
          [lancedb.Occur.Must, new lancedb.MatchQuery('fox', 'words')],
          [lancedb.Occur.MustNot, new lancedb.MatchQuery('small', 'words')],
        ]),
      )
      .limit(500),
  'words in indexed rows with a filter': (table) =>
    table
      .query()
      .fullTextSearch('fox', { columns: ['words'] })
      .where('id < 90')
      .fastSearch()
      .limit(500),
};

/** Rows as texts in an order of their own: those of one score or distance come in any. */
async function sortedRows(query: Query | VectorQuery): Promise<readonly string[]> {
  const rows = await rowsOf(query);
  const text = (_: string, value: unknown) => {
    if (typeof value === 'bigint') return String(value);
    return ArrayBuffer.isView(value) ? [...(value as unknown as Float32Array)] : value;
  };
  return rows.map((row) => JSON.stringify(row, text)).toSorted();
}

describe('a query of a Lance table', () => {
  it.each(Object.entries(asks))('%s', async (_, ask) => {
    const [theirs, ours] = [await sortedRows(ask(own)), await sortedRows(ask(served))];
    expect(ours).toEqual(theirs);
  });

  it('keeps the order that was asked for', async () => {
    const ask = asks['an order, a limit and an offset']!;
    expect(await rowsOf(ask(served))).toEqual(await rowsOf(ask(own)));
  });

  it('merges a search for vectors and words', async () => {
    const hybrid = async (table: Table) => {
      const reranker = await lancedb.rerankers.RRFReranker.create();
      const search = near(table).fullTextSearch('fox', { columns: ['words'] });
      return rowsOf(search.rerank(reranker).select(['id']).limit(8));
    };
    expect(await hybrid(served)).toEqual(await hybrid(own));
  });

  it('is counted, explained and analysed', async () => {
    expect(await served.countRows()).toBe(ROWS + 3);
    expect(await served.countRows("words LIKE '%fox%'")).toBe(
      await own.countRows("words LIKE '%fox%'"),
    );
    const plan = await served.query().where('id = 7').explainPlan(true);
    expect(plan).toBe(await own.query().where('id = 7').explainPlan(true));
    expect(await near(served).analyzePlan()).toContain('AnalyzeExec');
  });

  it.each([
    ['id = = 2', 400, 13, /^Error parsing statement: .*Expected: an expression, found: =/],
    ['nope = 2', 400, 12, /^Schema error: No field named nope\./],
    ["id = 'x'", 400, 13, /could not convert to literal of type 'Int32'/],
  ])('is refused in the words of the library: %s', async (filter, status, code, words) => {
    const refusal = await refusalOf(served.query().where(filter).toArrow());
    expect(refusal).toMatchObject({ status, code });
    expect(refusal.error).toMatch(words);
    expect(refusal.error).not.toMatch(/\.rs|Caused by|GenericFailure/);
  });
});

describe('versions of a Lance table', () => {
  it('are those that the catalog knows', async () => {
    const table = await writer.createTable('history', [{ id: 1 }]);
    const other = await reader.openTable('history');
    for (const id of [2, 3, 4]) {
      await table.add([{ id }]);
      expect(await other.countRows()).toBe(id);
    }
    await table.delete('id = 2');
    expect(await rowsOf(other.query())).toEqual([{ id: 1 }, { id: 3 }, { id: 4 }]);
    await other.checkout(2);
    expect(await rowsOf(other.query())).toEqual([{ id: 1 }, { id: 2 }]);
    await other.checkoutLatest();
    expect(await other.countRows()).toBe(3);
    await writer.createTable('history', [{ name: 'new' }], { mode: 'overwrite' });
    expect(await rowsOf(other.query())).toEqual([{ name: 'new' }]);
  });

  it('of branches are read as well', async () => {
    const table = await writer.createTable('grown', [{ id: 1 }]);
    const dev = await (await table.branches()).create('team/dev');
    await dev.add([{ id: 2 }]);
    await table.add([{ id: 9 }]);
    const other = await reader.openTable('grown');
    const branch = await (await other.branches()).checkout('team/dev');
    expect(await rowsOf(branch.query())).toEqual([{ id: 1 }, { id: 2 }]);
    expect(await rowsOf(other.query())).toEqual([{ id: 1 }, { id: 9 }]);
    await dev.add([{ id: 3 }]);
    expect(await branch.countRows()).toBe(3);
  });
});
