import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Connection } from '@lancedb/lancedb';
import { Service } from '../support/service.ts';
import { arrow, connectTo, errorOf, refusalOf, rowsOf, tableOf } from './lancedb.ts';

let service: Service;
let db: Connection;

beforeAll(async () => {
  service = await Service.start();
  db = await connectTo(service);
});

afterAll(() => service.stop());

const { Int64, Utf8 } = arrow;
let made = 0;
let name = '';

beforeEach(() => {
  made += 1;
  name = `made${made}`;
});

function people(...names: readonly string[]) {
  const id = { name: 'id', type: new Int64(), values: names.map((_, index) => BigInt(index)) };
  return tableOf([
    { ...id, nullable: false },
    { name: 'who', type: new Utf8(), values: names },
  ]);
}

describe('createTable', () => {
  it('stores the rows of an Arrow table as version 1', async () => {
    const table = await db.createTable(name, people('Ann', 'Bob'));
    expect(await table.version()).toBe(1);
    expect(await rowsOf(table)).toEqual([
      { id: 0n, who: 'Ann' },
      { id: 1n, who: 'Bob' },
    ]);
  });

  it('stores plain objects', async () => {
    const rows = [
      { city: 'Oslo', size: 0.7, seen: true },
      { city: 'Rome', size: 2.8, seen: false },
    ];
    const table = await db.createTable(name, rows);
    expect(await rowsOf(table)).toEqual(rows);
  });

  it('makes an empty table of a schema', async () => {
    const { schema } = people();
    const table = await db.createEmptyTable(name, schema);
    expect(await table.countRows()).toBe(0);
    expect(String(await table.schema())).toBe(String(schema));
    expect((await table.schema()).fields.map(({ nullable }) => nullable)).toEqual([false, true]);
    await table.add(people('Ann'));
    expect(await rowsOf(table)).toEqual([{ id: 0n, who: 'Ann' }]);
  });

  it('refuses a table that exists, and changes nothing', async () => {
    const table = await db.createTable(name, people('Ann'));
    const error = await errorOf(db.createTable(name, people('Bob', 'Cyd')));
    expect(error.message).toBe(`Table '${name}' already exists`);
    expect(await table.version()).toBe(1);
    expect(await rowsOf(table)).toEqual([{ id: 0n, who: 'Ann' }]);
  });

  it('opens a table that exists when that is fine', async () => {
    await db.createTable(name, people('Ann'));
    const table = await db.createTable(name, people('Bob', 'Cyd'), { existOk: true });
    expect(await rowsOf(table)).toEqual([{ id: 0n, who: 'Ann' }]);
    expect(await table.version()).toBe(1);
  });

  it('makes a table that does not exist when existing would be fine', async () => {
    const table = await db.createTable(name, people('Bob'), { existOk: true });
    expect(await rowsOf(table)).toEqual([{ id: 0n, who: 'Bob' }]);
  });

  it('opens an empty table that exists when that is fine', async () => {
    await db.createTable(name, people('Ann'));
    const table = await db.createEmptyTable(name, people().schema, { existOk: true });
    expect(await table.countRows()).toBe(1);
  });

  it('overwrites a table with another schema, and keeps its history', async () => {
    const first = await db.createTable(name, people('Ann', 'Bob'));
    const table = await db.createTable(name, [{ weight: 1.5 }], { mode: 'overwrite' });
    expect(await rowsOf(table)).toEqual([{ weight: 1.5 }]);
    expect(await table.version()).toBe(2);
    await first.checkout(1);
    expect(await rowsOf(first)).toEqual([
      { id: 0n, who: 'Ann' },
      { id: 1n, who: 'Bob' },
    ]);
  });

  it('overwrites what does not exist', async () => {
    const table = await db.createTable(name, people('Ann'), { mode: 'overwrite' });
    expect(await table.version()).toBe(1);
    expect(await table.countRows()).toBe(1);
  });

  it.each(['a b', 'ünïcödé', '名前', "it's", 'a.b', 'a+b', '100', 'T', 't', '-', '*'])(
    'takes the name %s',
    async (odd) => {
      const table = await db.createTable(odd, people('Ann'));
      expect(await table.countRows()).toBe(1);
      expect(await (await db.openTable(odd)).countRows()).toBe(1);
      expect(await db.tableNames()).toContain(odd);
      await db.dropTable(odd);
      expect(await db.tableNames()).not.toContain(odd);
    },
  );

  it('refuses the name of a namespace', async () => {
    await db.createNamespace([name]);
    const message = `the name /${name} is taken by a namespace`;
    expect(await refusalOf(db.createTable(name, people('Ann')))).toMatchObject({
      code: 2,
      error: message,
    });
    await db.dropNamespace([name]);
  });

  it('refuses a namespace that does not exist', async () => {
    const refused = await refusalOf(db.createTable(name, people('Ann'), ['absent']));
    expect(refused).toMatchObject({ code: 1, error: 'namespace /absent does not exist' });
  });
});

describe('openTable', () => {
  it('gives a table with its rows', async () => {
    await db.createTable(name, people('Ann'));
    const other = await connectTo(service);
    expect(await rowsOf(await other.openTable(name))).toEqual([{ id: 0n, who: 'Ann' }]);
  });

  it('says that there is none', async () => {
    const error = await errorOf(db.openTable('absent'));
    expect(error.message).toContain("Table 'absent' was not found");
    expect(error.message).toContain('"code":4');
  });
});

describe('dropTable', () => {
  it('takes the table away for everyone', async () => {
    const table = await db.createTable(name, people('Ann'));
    await db.dropTable(name);
    expect(await db.tableNames()).not.toContain(name);
    expect((await errorOf(table.countRows())).message).toContain(`Table '${name}' was not found`);
  });

  it('leaves its name free for another', async () => {
    const old = await db.createTable(name, people('Ann'));
    await db.dropTable(name);
    await db.createTable(name, [{ other: 'x' }]);
    expect(await old.countRows()).toBe(1);
    expect(await rowsOf(old)).toEqual([{ other: 'x' }]);
  });

  it('says that there is none', async () => {
    expect(await refusalOf(db.dropTable('absent'))).toMatchObject({
      status: 404,
      code: 4,
      error: 'table /absent does not exist',
    });
  });
});
