import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Connection, Table } from '@lancedb/lancedb';
import { LANCEDB, send } from '../service/http.ts';
import { Service } from '../support/service.ts';
import { connectTo, refusalOf, valuesOf } from './lancedb.ts';

let service: Service;
let db: Connection;
let table: Table;
const started = Date.now();

/** Three versions: one row, two rows, one row of another schema. */
beforeAll(async () => {
  service = await Service.start();
  db = await connectTo(service);
  table = await db.createTable('t', [{ id: 1 }]);
  await table.add([{ id: 2 }]);
  table = await db.createTable('t', [{ word: 'x' }], { mode: 'overwrite' });
});

afterAll(() => service.stop());

/** Through another connection: tables opened by one share what they are pinned to. */
async function tableAt(version: number): Promise<Table> {
  return (await connectTo(service)).openTable('t', [], { version });
}

describe('versions', () => {
  it('are listed with the time of each', async () => {
    const versions = await table.listVersions();
    expect(versions.map(({ version }) => version)).toEqual([1, 2, 3]);
    const times = versions.map(({ timestamp }) => timestamp.getTime());
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(times[0]).toBeGreaterThanOrEqual(started);
    expect(times[2]).toBeLessThanOrEqual(Date.now());
  });

  it('number the table', async () => {
    expect(await (await db.openTable('t')).version()).toBe(3);
  });

  it('can be read as they were', async () => {
    const old = await tableAt(2);
    expect(await old.version()).toBe(2);
    expect(String(await old.schema())).toBe('Schema<{ 0: id: Float64 }>');
    expect(await old.countRows()).toBe(2);
    expect(await valuesOf(old.query().where('id > 1'), 'id')).toEqual([2]);
    await old.checkout(1);
    expect(await valuesOf(old, 'id')).toEqual([1]);
    await old.checkoutLatest();
    expect(await old.version()).toBe(3);
    expect(await valuesOf(old, 'word')).toEqual(['x']);
  });

  it('that do not exist cannot be read', async () => {
    const refused = await refusalOf(table.checkout(99));
    expect(refused).toMatchObject({ status: 400, code: 11, error: 'the table has no version 99' });
  });

  it('that are old cannot be written to', async () => {
    const old = await tableAt(1);
    await expect(old.add([{ id: 9 }])).rejects.toThrow(/checked out|checkout/);
    expect(await table.version()).toBe(3);
  });
});

describe('stats', () => {
  it('count what the newest version holds', async () => {
    const stats = await table.stats();
    const lengths = { min: 1, max: 1, mean: 1, p25: 1, p50: 1, p75: 1, p99: 1 };
    expect(stats).toMatchObject({
      numRows: 1,
      numIndices: 0,
      fragmentStats: { numFragments: 1, numSmallFragments: 1, lengths },
    });
    expect(stats.totalBytes).toBeGreaterThan(0);
  });
});

describe('what no table has yet', () => {
  it('is listed as nothing', async () => {
    expect(await table.listIndices()).toEqual([]);
    expect(await (await table.tags()).list()).toEqual({});
    expect(await table.indexStats('word_idx')).toBeUndefined();
    await expect(table.dropIndex('word_idx')).rejects.toThrow("Index 'word_idx' was not found");
    await expect(table.prewarmIndex('word_idx')).rejects.toThrow("Index 'word_idx' was not found");
  });
});

describe('a clone', () => {
  it.each([true, false])('is a table of its own, shallow: %s', async (isShallow) => {
    const uri = await locationOf('t');
    const name = `copy_${isShallow}`;
    const copy = await db.cloneTable(name, uri, { sourceVersion: 2, isShallow });
    expect(await valuesOf(copy, 'id')).toEqual([1, 2]);
    await copy.add([{ id: 3 }]);
    await copy.delete('id = 1');
    expect(await valuesOf(copy, 'id')).toEqual([2, 3]);
    expect(await valuesOf(await tableAt(2), 'id')).toEqual([1, 2]);
    await db.dropTable(name);
    expect(await valuesOf(await tableAt(2), 'id')).toEqual([1, 2]);
  });

  it('has the indices', async () => {
    const indexed = await db.createTable('indexed', [{ id: 1 }, { id: 2 }]);
    await indexed.createIndex('id');
    await indexed.waitForIndex(['id_idx'], 60);
    const copy = await db.cloneTable('copy', await locationOf('indexed'));
    expect(await copy.listIndices()).toMatchObject([{ name: 'id_idx', columns: ['id'] }]);
    await copy.prewarmIndex('id_idx');
    expect(await copy.countRows('id = 2')).toBe(1);
    for (const name of ['copy', 'indexed']) await db.dropTable(name);
  });

  async function locationOf(name: string): Promise<string> {
    const { json } = await send(service.url, `POST /v1/table/${name}/describe`, {
      headers: LANCEDB,
    });
    return String(json['location']);
  }
});

describe('what is read ahead', () => {
  it('is found in memory by queries', async () => {
    await table.prewarmData();
    await table.prewarmData(['word']);
    expect(await refusalOf(table.prewarmData(['nope']))).toMatchObject({ code: 12 });
    expect(await valuesOf(table, 'word')).toEqual(['x']);
  });
});

describe('a log of merges', () => {
  it('is not kept', async () => {
    const refused = await refusalOf(table.setLsmWriteSpec({ specType: 'unsharded' }));
    expect(refused).toMatchObject({ status: 406, code: 0 });
    expect(await table.listVersions()).toHaveLength(3);
  });
});
