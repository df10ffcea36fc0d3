import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Connection } from '@lancedb/lancedb';
import { Service } from '../support/service.ts';
import { connectTo, errorOf, expectedRefusal, refusalOf, rowsOf } from './lancedb.ts';

let service: Service;
let db: Connection;

beforeAll(async () => {
  service = await Service.start();
  db = await connectTo(service);
});

afterAll(() => service.stop());

describe('a namespace', () => {
  it('has properties', async () => {
    const properties = { owner: 'ann', größe: '' };
    expect(await db.createNamespace(['props'], { properties })).toMatchObject({ properties });
    expect(await db.describeNamespace(['props'])).toEqual({ properties });
  });

  it('is made once, unless existing is fine', async () => {
    await db.createNamespace(['once'], { properties: { a: '1' } });
    const refused = await refusalOf(db.createNamespace(['once']));
    expect(refused).toMatchObject(expectedRefusal(400, 2, 'namespace /once already exists'));
    await db.createNamespace(['once'], { mode: 'exist_ok', properties: { a: '2' } });
    expect(await db.describeNamespace(['once'])).toEqual({ properties: { a: '1' } });
  });

  it('that is empty can be overwritten', async () => {
    await db.createNamespace(['over'], { properties: { a: '1' } });
    await db.createNamespace(['over'], { mode: 'overwrite', properties: { b: '2' } });
    expect(await db.describeNamespace(['over'])).toEqual({ properties: { b: '2' } });
    await db.createNamespace(['over', 'inner']);
    const refused = await refusalOf(db.createNamespace(['over'], { mode: 'overwrite' }));
    expect(refused).toMatchObject(expectedRefusal(400, 3, 'namespace /over is not empty'));
    expect(await db.describeNamespace(['over'])).toEqual({ properties: { b: '2' } });
  });

  it('lies in others of any depth', async () => {
    const path = ['deep', 'b', 'c', 'd e', 'ö'];
    for (let length = 1; length <= path.length; length++) {
      await db.createNamespace(path.slice(0, length));
    }
    expect(await db.listNamespaces(path.slice(0, 3))).toEqual({ namespaces: ['d e'] });
    const table = await db.createTable('t', [{ id: 1 }], path);
    expect(await rowsOf(table)).toEqual([{ id: 1 }]);
    expect(await db.tableNames(path)).toEqual(['t']);
    expect(await (await db.openTable('t', path)).countRows()).toBe(1);
  });

  it('needs the one above it', async () => {
    const refused = await refusalOf(db.createNamespace(['missing', 'inner']));
    expect(refused).toMatchObject(expectedRefusal(400, 1, 'namespace /missing does not exist'));
  });

  it.each([
    ['describe', () => db.describeNamespace(['absent'])],
    ['list', () => db.listNamespaces(['absent'])],
    ['list the tables of', () => db.tableNames(['absent'])],
    ['drop', () => db.dropNamespace(['absent'])],
  ])('that does not exist cannot be asked for: %s', async (_, call) => {
    const refused = await refusalOf(call());
    expect(refused).toMatchObject(expectedRefusal(400, 1, 'namespace /absent does not exist'));
  });

  it('cannot be called system', async () => {
    const words = 'the namespace "system" is reserved: nothing is created in it';
    expect(await refusalOf(db.createNamespace(['system']))).toMatchObject(
      expectedRefusal(400, 13, words),
    );
  });

  it('cannot take the name of a table', async () => {
    await db.createTable('taken', [{ id: 1 }]);
    const refused = await refusalOf(db.createNamespace(['taken']));
    expect(refused).toMatchObject(expectedRefusal(400, 5, 'the name /taken is taken by a table'));
  });
});

describe('the root', () => {
  it('is a namespace too, and stays', async () => {
    expect(await db.describeNamespace([])).toEqual({ properties: {} });
    const refused = await refusalOf(db.dropNamespace([]));
    expect(refused).toMatchObject({ code: 13, error: 'the root namespace cannot be dropped' });
  });
});

describe('dropNamespace', () => {
  it('keeps what is not empty', async () => {
    await db.createNamespace(['full']);
    await db.createTable('t', [{ id: 1 }], ['full']);
    for (const options of [{}, { behavior: 'restrict' }] as const) {
      const refused = await refusalOf(db.dropNamespace(['full'], options));
      expect(refused).toMatchObject(expectedRefusal(400, 3, 'namespace /full is not empty'));
    }
    expect(await (await db.openTable('t', ['full'])).countRows()).toBe(1);
    await db.dropTable('t', ['full']);
    await db.dropNamespace(['full']);
    expect((await db.listNamespaces()).namespaces).not.toContain('full');
  });

  it('takes everything below along when told to', async () => {
    await db.createNamespace(['tree'], { properties: { a: '1' } });
    await db.createNamespace(['tree', 'a']);
    await db.createNamespace(['tree', 'a', 'b']);
    const table = await db.createTable('t', [{ id: 1 }], ['tree', 'a', 'b']);
    const dropped = await db.dropNamespace(['tree'], { behavior: 'cascade' });
    expect(dropped).toMatchObject({ properties: { a: '1' } });
    expect((await db.listNamespaces()).namespaces).not.toContain('tree');
    expect((await errorOf(table.countRows())).message).toContain('was not found');
    await db.createNamespace(['tree']);
    expect(await db.listNamespaces(['tree'])).toEqual({ namespaces: [] });
  });

  it('may skip one that does not exist', async () => {
    expect(await db.dropNamespace(['absent'], { mode: 'skip' })).toEqual({});
  });
});
