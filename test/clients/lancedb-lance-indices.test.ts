import type { Connection, Table } from '@lancedb/lancedb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitUntil } from '../support/eventually.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { send, type Reply } from '../service/http.ts';
import { arrow, connectTo, lancedb, tableOf, valuesOf } from './lancedb.ts';

/**
 * Indices of Lance tables that a LanceDB client asks the service for: the library builds them, and
 * a Lance client that opens the folder finds them.
 */

const { Field, FixedSizeList, Float32, Int32, List, Utf8 } = arrow;
const { Index } = lancedb;
const SECONDS = 240;

let service: Service;
let writer: Connection;
let reader: Connection;
let served: Table;

beforeAll(async () => {
  service = await Service.start();
  const headers = { 'x-api-key': ADMIN_KEY };
  writer = await lancedb.connectNamespace('rest', { uri: service.url, headers });
  reader = await connectTo(service);
  await writer.createTable('t', rows());
  served = await reader.openTable('t');
});

afterAll(() => service.stop());

const ids = Array.from({ length: 600 }, (_, id) => id);

function rows() {
  const place = new FixedSizeList(8, new Field('item', new Float32(), true));
  return tableOf([
    { name: 'id', type: new Int32(), values: ids },
    { name: 'kind', type: new Utf8(), values: ids.map((id) => `kind ${id % 7}`) },
    {
      name: 'tags',
      type: new List(new Field('item', new Utf8(), true)),
      values: ids.map((id) => [`t${id % 3}`, `u${id % 11}`]),
    },
    {
      name: 'place',
      type: place,
      values: ids.map((id) => Array.from({ length: 8 }, (_, at) => Math.sin(id * (at + 1)))),
    },
  ]);
}

function ask(name: string, action: string, body: object = {}): Promise<Reply> {
  return send(service.url, `POST /v1/table/${name}/${action}`, { body });
}

/** What a listing says of each index, but for the moments and ids of both tables. */
async function described(table: Table) {
  const listed = await table.listIndices();
  return listed.map(({ name, columns, indexType, numIndexedRows, numUnindexedRows }) => ({
    name,
    columns,
    indexType,
    numIndexedRows,
    numUnindexedRows,
  }));
}

async function transactionOf(reply: Reply): Promise<Readonly<Record<string, unknown>>> {
  const id = String(reply.json['transaction_id']);
  let last: Reply | undefined;
  await waitUntil(async () => {
    last = await send(service.url, `POST /v1/transaction/${id}/describe`, { body: {} });
    return ['SUCCEEDED', 'FAILED'].includes(String(last.json['status']));
  });
  return last!.json;
}

describe('an index of a Lance table', () => {
  const kinds = [
    ['id', 'BTREE', Index.btree()],
    ['kind', 'BITMAP', Index.bitmap()],
    ['tags', 'LABEL_LIST', Index.labelList()],
    ['kind', 'FM', Index.fm()],
    ['kind', 'FTS', Index.fts({ withPosition: true })],
    ['place', 'IVF_FLAT', Index.ivfFlat({ numPartitions: 2, distanceType: 'cosine' })],
    ['place', 'IVF_PQ', Index.ivfPq({ numPartitions: 2, numSubVectors: 2 })],
    ['place', 'IVF_RQ', Index.ivfRq({ numPartitions: 2 })],
    ['place', 'IVF_HNSW_SQ', Index.hnswSq({ numPartitions: 2, m: 10 })],
  ] as const;

  it.each(kinds)('of %s is built as %s', async (column, type, config) => {
    const name = `my ${type}.1`;
    await served.createIndex(column, { config, name, waitTimeoutSeconds: SECONDS });
    const stats = await served.indexStats(name);
    expect(stats).toMatchObject({ indexType: type, numIndexedRows: 600, numUnindexedRows: 0 });
    const own = await writer.openTable('t');
    expect(await own.indexStats(name)).toEqual(stats);
  });

  it('is listed as the library lists it', async () => {
    const own = await writer.openTable('t');
    expect(await described(served)).toEqual(await described(own));
    expect(await served.listIndices()).toHaveLength(kinds.length);
    const stats = await served.stats();
    expect(stats.numIndices).toBe(kinds.length);
    const first = await ask('t', 'index/list', { limit: 2 });
    const { indexes, page_token } = first.json as { indexes: object[]; page_token: string };
    expect(indexes).toMatchObject([{ status: 'done' }, { status: 'done' }]);
    const rest = await ask('t', 'index/list', { page_token });
    expect(rest.json['indexes']).toHaveLength(kinds.length - 2);
  });

  it('is used by queries', async () => {
    const query = served.query().where('id = 77');
    expect(await query.explainPlan()).toContain('ScalarIndexQuery');
    expect(await valuesOf(query.select(['id']), 'id')).toEqual([77]);
    const words = served
      .query()
      .fullTextSearch('kind', { columns: ['kind'] })
      .limit(1000);
    expect(await words.toArray()).toHaveLength(600);
  });

  it('of HNSW with product quantisation is built for clients that can name it', async () => {
    const body = { column: 'place', index_type: 'IVF_HNSW_PQ', name: 'hp', num_sub_vectors: 2 };
    const reply = await ask('t', 'create_index', { ...body, distance_type: 'dot' });
    expect(await transactionOf(reply)).toMatchObject({
      status: 'SUCCEEDED',
      properties: { 'job.type': 'lance_index', 'job.index': 'hp', 'job.index_type': 'IVF_HNSW_PQ' },
    });
    expect(await served.indexStats('hp')).toMatchObject({ distanceType: 'dot' });
  });

  it('is warmed and dropped, and gone for Lance clients', async () => {
    await served.prewarmIndex('my BTREE.1');
    await served.dropIndex('my BTREE.1');
    expect(await served.indexStats('my BTREE.1')).toBeUndefined();
    const own = await writer.openTable('t');
    expect((await own.listIndices()).map(({ name }) => name)).not.toContain('my BTREE.1');
  });

  it('takes the place of one of its name for LanceDB clients, to others the name is taken', async () => {
    await served.createIndex('id', { config: Index.btree(), waitTimeoutSeconds: SECONDS });
    const [before] = (await served.listIndices()).filter(({ name }) => name === 'id_idx');
    await served.createIndex('id', { config: Index.btree() });
    await waitUntil(async () => {
      const [now] = (await served.listIndices()).filter(({ name }) => name === 'id_idx');
      return now!.indexUuid !== before!.indexUuid;
    });
    const reply = await ask('t', 'create_index', { column: 'id', index_type: 'BTREE' });
    expect([reply.status, reply.json['code']]).toEqual([409, 7]);
  });

  it('that cannot be built fails its job with the words of the library', async () => {
    const reply = await ask('t', 'create_index', { column: 'id', index_type: 'FTS', name: 'no' });
    const failed = await transactionOf(reply);
    expect(failed).toMatchObject({ status: 'FAILED' });
    expect(JSON.stringify(failed)).toContain('FTS index cannot be created');
    expect(await served.indexStats('no')).toBeUndefined();
  });
});

describe('a refused request about an index', () => {
  it.each([
    ['create_index', { column: 'id', index_type: 'ZONEMAP' }, 406, 0, /of type ZONEMAP/],
    ['create_index', { column: 'id', index_type: 'IVF_SQ' }, 406, 0, /of type IVF_SQ/],
    ['create_index', { column: 'id', index_type: 'STRANGE' }, 400, 13, /not an index type/],
    ['create_index', { column: 'nope', index_type: 'BTREE' }, 404, 12, /nope/],
    ['create_index', { column: 'place', index_type: 'IVF_PQ', m: 0 }, 400, 13, /m must be/],
    [
      'create_index',
      { column: 'kind', index_type: 'FTS', custom_stop_words: ['a'] },
      406,
      0,
      /custom_stop_words/,
    ],
    ['index/nope/stats', {}, 404, 6, /nope/],
    ['index/nope/drop', {}, 404, 6, /nope/],
    ['index/nope/prewarm', {}, 404, 6, /nope/],
  ])('%s %j', async (action, body, status, code, sentence) => {
    const before = (await ask('t', 'describe')).json['version'];
    const reply = await ask('t', action, body);
    expect([reply.status, reply.json['code']]).toEqual([status, code]);
    expect(String(reply.json['error'])).toMatch(sentence);
    expect((await ask('t', 'describe')).json['version']).toBe(before);
  });
});

describe('a build of an index', () => {
  it('goes on when its process is killed', async () => {
    await writer.createTable('killed', rows());
    const reply = await ask('killed', 'create_index', {
      column: 'place',
      index_type: 'IVF_PQ',
      num_partitions: 4,
      num_sub_vectors: 4,
    });
    await service.end('SIGKILL');
    await service.restart();
    expect(await transactionOf(reply)).toMatchObject({ status: 'SUCCEEDED' });
    const listed = await ask('killed', 'index/list');
    expect(listed.json['indexes']).toMatchObject([{ index_type: 'IVF_PQ', status: 'done' }]);
  });
});
