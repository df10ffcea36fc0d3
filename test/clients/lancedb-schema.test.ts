import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Connection, Table } from '@lancedb/lancedb';
import { Service } from '../support/service.ts';
import { arrow, connectTo, refusalOf, rowsOf, tableOf, valuesOf } from './lancedb.ts';

let service: Service;
let db: Connection;
let table: Table;

beforeAll(async () => {
  service = await Service.start();
});

afterAll(() => service.stop());

/** Two fragments, one with a deleted row. */
beforeEach(async () => {
  db = await connectTo(service);
  const rows = (ids: readonly number[], words: readonly (string | null)[]) =>
    tableOf([
      { name: 'id', type: new arrow.Int32(), values: ids },
      { name: 'word', type: new arrow.Utf8(), values: words },
    ]);
  table = await db.createTable('t', rows([1, 2, 3], ['a', 'b', null]), { mode: 'overwrite' });
  await table.add(rows([4, 5], ['d', 'e']));
  await table.delete('id = 2');
});

/** The table as another client finds it: the client remembers schemas for a while. */
async function again(): Promise<Table> {
  return (await connectTo(service)).openTable('t');
}

describe('columns', () => {
  it('are added from expressions', async () => {
    const { version } = await table.addColumns([
      { name: 'twice', valueSql: 'id * 2' },
      { name: 'loud', valueSql: 'upper(word)' },
    ]);
    expect(await (await again()).version()).toBe(version);
    expect(await rowsOf((await again()).query())).toEqual([
      { id: 1, word: 'a', twice: 2, loud: 'A' },
      { id: 3, word: null, twice: 6, loud: null },
      { id: 4, word: 'd', twice: 8, loud: 'D' },
      { id: 5, word: 'e', twice: 10, loud: 'E' },
    ]);
  });

  it('are renamed, widened and made not nullable in one version', async () => {
    const before = await table.version();
    await table.alterColumns([
      { path: 'id', rename: 'key', dataType: new arrow.Int64(), nullable: false },
      { path: 'word', rename: 'text' },
    ]);
    const altered = await again();
    expect(await altered.version()).toBe(before + 1);
    expect(String(await altered.schema())).toBe('Schema<{ 0: key: Int64, 1: text: Utf8 }>');
    expect((await altered.schema()).fields.map(({ nullable }) => nullable)).toEqual([false, true]);
    expect(await valuesOf(altered.query().where('key > 1'), 'key')).toEqual([3n, 4n, 5n]);
  });

  it('are dropped', async () => {
    await table.dropColumns(['word']);
    expect(await rowsOf((await again()).query())).toEqual([
      { id: 1 },
      { id: 3 },
      { id: 4 },
      { id: 5 },
    ]);
  });

  it('get metadata', async () => {
    await table.updateFieldMetadata([{ path: 'word', metadata: { language: 'en' } }]);
    const schema = await (await again()).schema();
    expect(schema.fields.map(({ metadata }) => Object.fromEntries(metadata))).toEqual([
      {},
      { language: 'en' },
    ]);
  });
});

describe('history', () => {
  it('has tags', async () => {
    const tags = await table.tags();
    const version = await table.version();
    await tags.create('gold', version);
    expect(await tags.getVersion('gold')).toBe(version);
    await table.add([{ id: 6, word: 'f' }]);
    const tagged = await again();
    await tagged.checkout('gold');
    expect(await tagged.countRows()).toBe(4);
    await tags.update('gold', version + 1);
    expect(await tags.list()).toEqual({ gold: expect.objectContaining({ version: version + 1 }) });
    expect(await refusalOf(tags.create('gold', version))).toMatchObject({ status: 400, code: 9 });
    await tags.delete('gold');
    expect(await tags.list()).toEqual({});
    expect(await refusalOf(tags.getVersion('gold'))).toMatchObject({ code: 8 });
  });

  it('can be restored', async () => {
    const version = await table.version();
    await table.dropColumns(['word']);
    await table.delete('id > 0');
    const old = await (await connectTo(service)).openTable('t', [], { version });
    await old.restore();
    expect(await valuesOf((await again()).query(), 'word')).toEqual(['a', null, 'd', 'e']);
    expect(await (await again()).version()).toBe(version + 3);
  });
});

describe('a table', () => {
  it('is renamed', async () => {
    await db.renameTable('t', 'u');
    expect(await db.tableNames()).toEqual(['u']);
    expect(await (await db.openTable('u')).countRows()).toBe(4);
    await db.dropTable('u');
  });
});
