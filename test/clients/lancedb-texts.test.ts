import type { Connection, FullTextQuery, Table } from '@lancedb/lancedb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Service } from '../support/service.ts';
import { arrow, connectTo, lancedb, refusalOf, rowsOf, tableOf } from './lancedb.ts';
import { waitUntil } from '../support/eventually.ts';

let service: Service;
let db: Connection;
let table: Table;

const { Field, FixedSizeList, Float32, Int32, Utf8 } = arrow;
const { Index, MatchQuery, PhraseQuery, BoostQuery, MultiMatchQuery, BooleanQuery } = lancedb;
const { Occur, Operator } = lancedb;
const SECONDS = 30;

const titles = ['The Sea', 'Red Dogs', 'A Dog at Sea', 'Night Train', 'Dogs and Cats', 'The Cat'];
const plots = [
  'A captain looks for a whale in the wide sea',
  'Three dogs run through the red night',
  'The dog of a captain falls into the sea',
  'A train runs through the night',
  'Cats run, dogs run, and nobody sleeps',
  'A cat sleeps on a train',
];

beforeAll(async () => {
  service = await Service.start();
  db = await connectTo(service);
  table = await db.createTable('films', films(0));
  await table.createIndex('plot', {
    config: Index.fts({ withPosition: true }),
    waitTimeoutSeconds: SECONDS,
  });
  await table.createIndex('title', { config: Index.fts({ stem: false }) });
  await table.waitForIndex(['title_idx'], SECONDS);
});

afterAll(() => service.stop());

function films(first: number) {
  const place = new FixedSizeList(2, new Field('item', new Float32(), true));
  return tableOf([
    { name: 'id', type: new Int32(), values: titles.map((_, at) => first + at) },
    { name: 'title', type: new Utf8(), values: titles },
    { name: 'plot', type: new Utf8(), values: plots },
    { name: 'place', type: place, values: titles.map((_, at) => [first + at, 0]) },
  ]);
}

/** The rows of a search, the best first. */
async function found(
  query: string | FullTextQuery,
  columns?: string[],
): Promise<readonly unknown[]> {
  const search = table.query().fullTextSearch(query, columns === undefined ? {} : { columns });
  return (await rowsOf(search.select(['id']).limit(100))).map((row) => row['id']);
}

const sorted = (ids: readonly unknown[]) => ids.map(Number).sort((one, other) => one - other);

describe('text indices', () => {
  it('are listed and described', async () => {
    const listed = await table.listIndices();
    expect(listed.map(({ name, indexType, columns }) => [name, indexType, columns])).toEqual([
      ['plot_idx', 'FTS', ['plot']],
      ['title_idx', 'FTS', ['title']],
    ]);
    expect(listed.map(({ indexDetails }) => indexDetails)).toMatchObject([
      { base_tokenizer: 'simple', language: 'English', with_position: true, stem: true },
      { with_position: false, stem: false },
    ]);
    expect(await table.indexStats('plot_idx')).toMatchObject({
      indexType: 'FTS',
      numIndexedRows: 6,
      numUnindexedRows: 0,
    });
  });

  it('find words of a text in all columns or in one', async () => {
    expect(sorted(await found('dogs'))).toEqual([1, 2, 4]);
    expect(await found('dogs', ['title'])).toEqual([1, 4]);
    expect(sorted(await found('captains', ['plot']))).toEqual([0, 2]);
    expect(await found('nowhere')).toEqual([]);
    const rows = await rowsOf(table.query().fullTextSearch('whale').withRowId().limit(3));
    expect(Object.keys(rows[0]!)).toEqual(['id', 'title', 'plot', 'place', '_score', '_rowid']);
    const search = table.search('night', 'fts', 'plot').limit(1) as {
      toArray(): Promise<unknown[]>;
    };
    expect(await search.toArray()).toHaveLength(1);
  });

  const queries: readonly (readonly [string, FullTextQuery, readonly number[]])[] = [
    ['any word', new MatchQuery('whale train', 'plot'), [0, 3, 5]],
    ['all words', new MatchQuery('dogs run', 'plot', { operator: Operator.And }), [1, 4]],
    ['misspelt words', new MatchQuery('captan', 'plot', { fuzziness: 1 }), [0, 2]],
    ['a fixed beginning', new MatchQuery('xats', 'title', { fuzziness: 1, prefixLength: 1 }), []],
    ['a phrase', new PhraseQuery('through the night', 'plot'), [3]],
    ['a phrase with words between', new PhraseQuery('run night', 'plot', { slop: 3 }), [1, 3]],
    ['several columns', new MultiMatchQuery('sea', ['title', 'plot'], { boosts: [2, 1] }), [0, 2]],
    [
      'less of another',
      new BoostQuery(new MatchQuery('dogs', 'plot'), new MatchQuery('captain', 'plot')),
      [1, 2, 4],
    ],
    [
      'a boolean query',
      new BooleanQuery([
        [Occur.Must, new MatchQuery('dogs', 'plot')],
        [Occur.MustNot, new MatchQuery('cats', 'plot')],
        [Occur.Should, new MatchQuery('sea', 'title')],
      ]),
      [1, 2],
    ],
  ];

  it.each(queries)('find %s', async (_, query, ids) => {
    expect(sorted(await found(query))).toEqual(ids);
  });

  it('find rows that pass a filter, before and behind the search', async () => {
    const search = () =>
      table
        .query()
        .fullTextSearch('run', { columns: ['plot'] })
        .select(['id']);
    const ids = async (query: ReturnType<typeof search>) =>
      sorted((await rowsOf(query)).map((row) => row['id']));
    expect(await ids(search().where('id > 1').limit(10))).toEqual([3, 4]);
    expect(await ids(search().where('id = 3').limit(1))).toEqual([3]);
    expect(await ids(search().limit(1).offset(1))).toHaveLength(1);
    const plan = await search().limit(2).explainPlan();
    expect(plan).toContain('Full text: any of "run" in plot, keeps 2');
    expect(await search().limit(2).analyzePlan()).toContain('covers 6 of 6 rows');
  });

  it('are half of a hybrid search, which the client merges', async () => {
    const reranker = await lancedb.rerankers.RRFReranker.create();
    const rows = await rowsOf(
      table
        .query()
        .nearestTo([3, 0])
        .fullTextSearch('dogs', { columns: ['plot'] })
        .rerank(reranker)
        .select(['id'])
        .limit(4),
    );
    expect(rows).toHaveLength(4);
    expect(rows[0]).toHaveProperty('_relevance_score');
    expect(rows.map((row) => row['id'])).toContain(4);
  });

  it('follow what is written', async () => {
    await table.add(films(10));
    expect(sorted(await found('whale'))).toEqual([0, 10]);
    expect(
      (await rowsOf(table.query().fullTextSearch('whale').fastSearch().select(['id']))).length,
    ).toBeGreaterThan(0);
    await table.delete('id = 0');
    expect(await found('whale')).toEqual([10]);
    await table.update({ where: 'id = 10', values: { plot: 'A sailor sings' } });
    expect(await found('whale')).toEqual([]);
    expect(await found('sailors')).toEqual([10]);
    await waitUntil(async () => (await table.indexStats('plot_idx'))?.numUnindexedRows === 0);
    expect(await found('sailors')).toEqual([10]);
    await table.prewarmIndex('plot_idx');
    await table.checkout(3);
    expect(await found('whale')).toEqual([0]);
    await table.checkoutLatest();
    await table.dropIndex('title_idx');
    expect(await found('dogs')).toHaveLength(6);
  });
});

describe('what is refused of texts', () => {
  const calls: readonly (readonly [string, () => Promise<unknown>, number, string])[] = [
    [
      'a search of a column without an index',
      () => found('dog', ['title']),
      6,
      'the column "title" has no text index: a full-text search needs one of type FTS',
    ],
    ['a search of no column', () => found('dog', ['nope']), 12, 'the table has no column "nope"'],
    [
      'an index of numbers',
      () => table.createIndex('id', { config: Index.fts() }),
      13,
      'an index of type FTS is made of texts or lists of texts, and the column "id" is of type int32',
    ],
    [
      'a tokenizer that stands on dictionaries',
      () => table.createIndex('plot', { config: Index.fts({ baseTokenizer: 'icu' as 'raw' }) }),
      0,
      'the tokenizer "icu" is not built: it needs dictionaries; there are "simple", "whitespace", "raw" or "ngram"',
    ],
  ];

  it.each(calls)('%s', async (_, call, code, error) => {
    expect(await refusalOf(call())).toMatchObject({ code, error });
  });

  it('a phrase where positions are not known', async () => {
    await table.createIndex('title', { config: Index.fts(), waitTimeoutSeconds: SECONDS });
    expect(await refusalOf(found(new PhraseQuery('red dogs', 'title')))).toMatchObject({
      code: 13,
      error:
        'the index "title_idx" of the column "title" does not know positions, which a phrase needs: make it anew with with_position',
    });
  });
});
