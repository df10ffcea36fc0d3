import type { Connection, Table } from '@lancedb/lancedb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Service } from '../support/service.ts';
import { arrow, connectTo, lancedb, tableOf, valuesOf } from './lancedb.ts';
import { waitUntil } from '../support/eventually.ts';

let service: Service;
let db: Connection;
let table: Table;

const { Field, FixedSizeList, Float32, Int64, List, Utf8 } = arrow;
const { Index } = lancedb;
const SECONDS = 30;

beforeAll(async () => {
  service = await Service.start();
  db = await connectTo(service);
  table = await db.createTable('t', rows(0, 500));
});

afterAll(() => service.stop());

function rows(first: number, count: number) {
  const ids = Array.from({ length: count }, (_, at) => first + at);
  const place = new FixedSizeList(2, new Field('item', new Float32(), true));
  return tableOf([
    { name: 'id', type: new Int64(), values: ids.map(BigInt) },
    { name: 'kind', type: new Utf8(), values: ids.map((id) => `kind ${id % 7}`) },
    {
      name: 'tags',
      type: new List(new Field('item', new Utf8(), true)),
      values: ids.map((id) => [`t${id % 3}`, `u${id % 11}`]),
    },
    { name: 'place', type: place, values: ids.map((id) => [id, 0]) },
  ]);
}

const idsWhere = async (filter: string) =>
  (await valuesOf(table.query().where(filter).select(['id']), 'id')).map(Number);

async function untilIndexed(name: string): Promise<void> {
  await waitUntil(async () => (await table.indexStats(name))?.numUnindexedRows === 0);
}

describe('scalar indices', () => {
  it('are built, waited for, listed and described', async () => {
    await table.createIndex('id', { waitTimeoutSeconds: SECONDS });
    await table.createIndex('kind', { config: Index.bitmap(), waitTimeoutSeconds: SECONDS });
    await table.createIndex('tags', { config: Index.labelList(), name: 'my tags.1' });
    await table.waitForIndex(['my tags.1'], SECONDS);
    const listed = await table.listIndices();
    expect(listed.map(({ name, indexType, columns }) => [name, indexType, columns])).toEqual([
      ['id_idx', 'BTree', ['id']],
      ['kind_idx', 'Bitmap', ['kind']],
      ['my tags.1', 'LabelList', ['tags']],
    ]);
    expect(await table.indexStats('my tags.1')).toMatchObject({
      numIndexedRows: 500,
      numUnindexedRows: 0,
      indexType: 'LABEL_LIST',
    });
    expect((await table.stats()).numIndices).toBe(3);
  });

  it('find rows, and say so in the plan', async () => {
    expect(await idsWhere('id = 77')).toEqual([77]);
    expect(await idsWhere("kind = 'kind 3' and id < 20")).toEqual([3, 10, 17]);
    expect(await idsWhere("array_has_all(tags, ['t1', 'u4']) and id < 100")).toEqual([4, 37, 70]);
    expect(await table.countRows("array_has(tags, 't0')")).toBe(167);
    const query = table.query().where("array_has(tags, 't0') and id > 490");
    expect(await query.explainPlan()).toContain('Index my tags.1, id_idx');
    expect(await query.analyzePlan()).toMatch(/Index .* \[500 rows in, 3 rows out/);
    const near = table.vectorSearch([200, 0]).where('id in (1, 2, 400)').limit(2).select(['id']);
    expect((await valuesOf(near, 'id')).map(Number)).toEqual([2, 1]);
  });

  it('follow what is written', async () => {
    await table.delete('id = 77');
    await table.update({ where: 'id = 78', valuesSql: { kind: "'other'" } });
    expect(await idsWhere('id in (77, 78)')).toEqual([78]);
    expect(await idsWhere("kind = 'other'")).toEqual([78]);
    await table.add(rows(500, 40));
    expect(await idsWhere('id >= 498 and id < 502')).toEqual([498, 499, 500, 501]);
    await table
      .mergeInsert('id')
      .whenMatchedUpdateAll()
      .whenNotMatchedInsertAll()
      .execute(rows(535, 10));
    await untilIndexed('id_idx');
    expect(await idsWhere('id >= 533')).toEqual([533, 534, ...range(535, 10)]);
    expect((await table.indexStats('id_idx'))?.numIndexedRows).toBe(544);
  });

  it('take the place of one of the same name, are warmed and dropped', async () => {
    const before = (await table.listIndices()).length;
    await table.createIndex('id', { config: Index.bitmap() });
    await waitUntil(async () => (await table.indexStats('id_idx'))?.indexType === 'BITMAP');
    expect(await idsWhere('id = 500')).toEqual([500]);
    await table.prewarmIndex('id_idx');
    await table.dropIndex('id_idx');
    expect(await table.indexStats('id_idx')).toBeUndefined();
    expect(await table.listIndices()).toHaveLength(before - 1);
    expect(await idsWhere('id = 500')).toEqual([500]);
  });

  it('are of their version', async () => {
    await table.checkout(1);
    expect(await table.listIndices()).toEqual([]);
    expect(await idsWhere('id = 77')).toEqual([77]);
    await table.checkoutLatest();
    expect((await table.listIndices()).map(({ name }) => name)).toEqual(['kind_idx', 'my tags.1']);
  });
});

function range(first: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, at) => first + at);
}
