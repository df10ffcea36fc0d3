import type { Connection, Table } from '@lancedb/lancedb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Service } from '../support/service.ts';
import { arrow, connectTo, lancedb, tableOf, valuesOf } from './lancedb.ts';

let service: Service;
let db: Connection;
let table: Table;

const { Field, FixedSizeList, Float32, Int64, Uint8, Utf8 } = arrow;
const { Index } = lancedb;
const SECONDS = 50;
const SIZE = 16;
const ROWS = 1000;

beforeAll(async () => {
  service = await Service.start();
  db = await connectTo(service);
  table = await db.createTable('t', rows(0, ROWS));
});

afterAll(() => service.stop());

/** Vectors on a spiral: the nearest to each are those beside it. */
const vectorOf = (id: number) =>
  Array.from({ length: SIZE }, (_, at) => Math.sin(id * 0.01 * (at + 1)) + id * 0.01);
const bitsOf = (id: number) => [id & 255, id >> 8, (id * 7) & 255, 0];

function rows(first: number, count: number) {
  const ids = Array.from({ length: count }, (_, at) => first + at);
  const list = (size: number, item: InstanceType<typeof arrow.DataType>) =>
    new FixedSizeList(size, new Field('item', item, true));
  return tableOf([
    { name: 'id', type: new Int64(), values: ids.map(BigInt) },
    { name: 'kind', type: new Utf8(), values: ids.map((id) => `kind ${id % 2}`) },
    { name: 'vector', type: list(SIZE, new Float32()), values: ids.map(vectorOf) },
    { name: 'bits', type: list(4, new Uint8()), values: ids.map(bitsOf) },
  ]);
}

const search = (id: number) =>
  table.query().nearestTo(vectorOf(id)).column('vector').limit(3).select(['id', '_distance']);
const idsOf = async (query: Parameters<typeof valuesOf>[0]) =>
  (await valuesOf(query, 'id')).map(Number).toSorted((one, other) => one - other);

describe('vector indices', () => {
  const kinds = [
    ['ivfFlat', Index.ivfFlat({ distanceType: 'l2', numPartitions: 4 })],
    ['ivfPq', Index.ivfPq({ distanceType: 'l2', numSubVectors: 4, numBits: 8 })],
    ['ivfRq', Index.ivfRq({ distanceType: 'l2' })],
    ['hnswPq or its like', Index.hnswSq({ distanceType: 'l2', m: 16, efConstruction: 100 })],
  ] as const;

  it.each(kinds)('are built for %s, waited for, listed and described', async (_, config) => {
    await table.createIndex('vector', { config });
    await table.waitForIndex(['vector_idx'], SECONDS);
    expect(await table.listIndices()).toMatchObject([
      { name: 'vector_idx', indexType: 'IvfRq', columns: ['vector'] },
    ]);
    expect(await table.indexStats('vector_idx')).toMatchObject({
      numIndexedRows: ROWS,
      numUnindexedRows: 0,
      indexType: 'IVF_RQ',
      distanceType: 'l2',
    });
    expect(await idsOf(search(500))).toEqual([499, 500, 501]);
  });

  it('are used as the query says', async () => {
    expect(await search(500).explainPlan()).toContain('Index vector_idx');
    expect(await idsOf(search(300).nprobes(50).refineFactor(3))).toEqual([299, 300, 301]);
    expect(await idsOf(search(300).ef(100))).toEqual([299, 300, 301]);
    expect(await idsOf(search(300).bypassVectorIndex())).toEqual([299, 300, 301]);
    expect(await search(300).bypassVectorIndex().explainPlan()).not.toContain('Index');
    const odd = search(300).where("kind = 'kind 1'");
    expect(await idsOf(odd)).toEqual(await idsOf(odd.bypassVectorIndex()));
    const [, nearest] = (await valuesOf(search(300), '_distance')) as number[];
    expect(await idsOf(search(300).distanceRange(0, nearest))).toEqual([300]);
    expect(await search(300).distanceType('cosine').explainPlan()).not.toContain('Index');
  });

  it('follow what is written', async () => {
    await table.add(rows(ROWS, 20));
    expect(await idsOf(search(ROWS + 10))).toEqual([ROWS + 9, ROWS + 10, ROWS + 11]);
    expect(await idsOf(search(500).fastSearch())).toEqual([499, 500, 501]);
    await table.delete('id = 499');
    expect(await idsOf(search(500))).not.toContain(499);
    await table.waitForIndex(['vector_idx'], SECONDS);
    expect((await table.indexStats('vector_idx'))?.numIndexedRows).toBe(ROWS + 19);
  });

  it('are built over bits, and by the distance that is said', async () => {
    await table.createIndex('bits', {
      config: Index.ivfFlat({ distanceType: 'hamming' as 'l2' }),
      waitTimeoutSeconds: SECONDS,
    });
    expect(await table.indexStats('bits_idx')).toMatchObject({
      indexType: 'IVF_FLAT',
      distanceType: 'hamming',
    });
    const near = table.query().nearestTo(bitsOf(77)).column('bits').limit(1).select(['id']);
    expect(await idsOf(near)).toEqual([77]);
    expect(await near.explainPlan()).toContain('Index bits_idx');
    await table.prewarmIndex('bits_idx');
    await table.dropIndex('bits_idx');
    expect(await near.explainPlan()).not.toContain('Index bits_idx');
  });
});
