import {
  lanceIndexTypes,
  type LanceIndexType,
} from '../../src/engine/versions/managed/lance-library.ts';
import { basename, dirname } from 'node:path';
import type * as LanceDb from '@lancedb/lancedb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { arrow, connectTo, lancedb, tableOf } from '../clients/lancedb.ts';
import { send } from '../service/http.ts';
import { randomOf, type Random } from '../service/random.ts';
import { casesOf } from '../support/cases.ts';
import { Service } from '../support/service.ts';
import { oneOf } from './column-kinds.ts';
import { rowsIn } from './compare.ts';
import { columnsOf } from './judge.ts';

/**
 * Indices that the service has built of a Lance table: filters and searches through the service find by them
 * what LanceDB finds by them in the same folder, before and after further changes.
 */

const { Field, FixedSizeList, Float32, Int32, List, Utf8 } = arrow;
const ROWS = 1200;
const DIMENSION = 16;
const SEED = 4100;
const CASES = casesOf(3, 20);

/** The column of each index. Vector indices have one each, since a search uses the index of its column. */
const columns: Readonly<Record<LanceIndexType, string>> = {
  BTREE: 'id',
  BITMAP: 'kind',
  LABEL_LIST: 'tags',
  FM: 'code',
  FTS: 'words',
  IVF_FLAT: 'v0',
  IVF_PQ: 'v1',
  IVF_RQ: 'v2',
  IVF_HNSW_PQ: 'v3',
  IVF_HNSW_SQ: 'v4',
};

const VOCABULARY = ['amber', 'birch', 'cedar', 'delta', 'ember', 'fjord', 'grove', 'heath'];

/** Rows with ids from one on. */
function rows(random: Random, from: number, count: number) {
  const ids = Array.from({ length: count }, (_, at) => from + at);
  const words = () => [1, 2, 3].map(() => oneOf(random, VOCABULARY)).join(' ');
  const vector = () => Array.from({ length: DIMENSION }, () => random(2001) / 1000 - 1);
  const type = new FixedSizeList(DIMENSION, new Field('item', new Float32(), true));
  return tableOf([
    { name: 'id', type: new Int32(), values: ids },
    { name: 'kind', type: new Utf8(), values: ids.map(() => oneOf(random, VOCABULARY)) },
    {
      name: 'tags',
      type: new List(new Field('item', new Utf8(), true)),
      values: ids.map(() => [oneOf(random, VOCABULARY), `n${random(9)}`]),
    },
    { name: 'code', type: new Utf8(), values: ids.map(() => `${words()} ${random(1000)}`) },
    { name: 'words', type: new Utf8(), values: ids.map(words) },
    ...[0, 1, 2, 3, 4].map((at) => ({ name: `v${at}`, type, values: ids.map(vector) })),
  ]);
}

/** A random search by an index: for the LanceDB client, which asks the service or opens the folder. */
type Search = (table: LanceDb.Table) => LanceDb.Query | LanceDb.VectorQuery;

function filterBy(filter: string): Search {
  return (table) => table.query().where(filter).select(['id', 'kind', 'words']);
}

const filters: Readonly<Partial<Record<LanceIndexType, (random: Random) => string>>> = {
  BTREE: (random) => {
    const from = random(ROWS);
    return oneOf(random, [
      `id = ${from}`,
      `id >= ${from} AND id < ${from + 40}`,
      `id IN (${from}, 7)`,
    ]);
  },
  BITMAP: (random) => `kind = '${oneOf(random, VOCABULARY)}'`,
  LABEL_LIST: (random) => `array_has_any(tags, ['${oneOf(random, VOCABULARY)}', 'n${random(9)}'])`,
  FM: (random) => `contains(code, '${random(100)}')`,
};

function searchBy(type: LanceIndexType, random: Random): Search {
  const filter = filters[type]?.(random);
  if (filter !== undefined) return filterBy(filter);
  if (type === 'FTS') {
    const words = `${oneOf(random, VOCABULARY)} ${oneOf(random, VOCABULARY)}`;
    return (table) =>
      table
        .query()
        .fullTextSearch(words, { columns: ['words'] })
        .limit(2 * ROWS);
  }
  const vector = Array.from({ length: DIMENSION }, () => random(2001) / 1000 - 1);
  const limit = 1 + random(20);
  const probes = 1 + random(3);
  const refine = random(2) === 0 ? undefined : 2;
  const where = random(2) === 0 ? undefined : `id > ${random(ROWS)}`;
  return (table) => {
    let query = table.query().nearestTo(vector).column(columns[type]).limit(limit).nprobes(probes);
    if (refine !== undefined) query = query.refineFactor(refine);
    if (where !== undefined) query = query.where(where);
    return query.select(['id', '_distance']);
  };
}

async function found(search: Search, table: LanceDb.Table): Promise<readonly string[]> {
  return rowsIn(columnsOf(await search(table).toArrow())).toSorted();
}

let service: Service;
let served: LanceDb.Table;
let own: LanceDb.Table;
const random = randomOf(SEED);

beforeAll(async () => {
  service = await Service.start({ config: 'tables: { format: lance }\n' });
  served = await (await connectTo(service)).createTable('t', rows(random, 0, ROWS));
  const { json } = await send(service.url, 'POST /v1/table/t/describe', { body: {} });
  const location = String(json['location']);
  const local = await lancedb.connect(dirname(location));
  own = await local.openTable(basename(location, '.lance'));
});

afterAll(() => service.stop());

async function compare(types: readonly LanceIndexType[]): Promise<void> {
  await own.checkoutLatest();
  for (const type of types) {
    let rowsFound = 0;
    for (let at = 0; at < CASES; at++) {
      const search = searchBy(type, random);
      const [theirs, ours] = [await found(search, own), await found(search, served)];
      expect(ours, `${type}, search ${at} of seed ${SEED}`).toEqual(theirs);
      rowsFound += ours.length;
    }
    expect(rowsFound, type).toBeGreaterThan(0);
  }
}

describe('an index that the service has built', () => {
  const configs = {
    FTS: { with_position: true },
    IVF_FLAT: { metric_type: 'l2', num_partitions: 4 },
    IVF_PQ: { metric_type: 'l2', num_partitions: 4, num_sub_vectors: 4 },
    IVF_RQ: { metric_type: 'l2', num_partitions: 4 },
    IVF_HNSW_PQ: { metric_type: 'l2', num_partitions: 2, num_sub_vectors: 4 },
    IVF_HNSW_SQ: { metric_type: 'l2', num_partitions: 2 },
  };

  it.each(lanceIndexTypes)(
    'of type %s is used and finds what it finds in the folder',
    async (type) => {
      const body = {
        column: columns[type],
        name: type,
        index_type: type,
        ...configs[type as 'FTS'],
      };
      const reply = await send(service.url, 'POST /v1/table/t/create_index', { body });
      expect(reply.status, reply.text).toBe(200);
      await expect
        .poll(async () => {
          const line = `POST /v1/transaction/${String(reply.json['transaction_id'])}/describe`;
          return (await send(service.url, line, { body: {} })).json['status'];
        })
        .toBe('SUCCEEDED');
      const plan = await searchBy(type, random)(served).explainPlan();
      expect(plan).toMatch(/ScalarIndexQuery|ANNSubIndex|MatchQuery/);
      await compare([type]);
    },
  );

  it('finds the same after further changes, and after a compaction', async () => {
    await served.delete('id % 5 = 3');
    await served.add(rows(random, ROWS, 50));
    await served.update({ where: 'id % 7 = 1', values: { kind: 'amber' } });
    await compare(lanceIndexTypes);
    const { code, err } = await service.command('catalog', 'compact', '/t');
    expect([code, err]).toEqual([0, '']);
    await compare(lanceIndexTypes);
    const stats = await served.indexStats('IVF_FLAT');
    expect(stats).toMatchObject({ numUnindexedRows: 0 });
  });
});
