import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Branches, Connection, Table } from '@lancedb/lancedb';
import { Service } from '../support/service.ts';
import { connectTo, valuesOf } from './lancedb.ts';

let service: Service;
let db: Connection;
let table: Table;
let branches: Branches;
let count = 0;

beforeAll(async () => {
  service = await Service.start();
  db = await connectTo(service);
});

afterAll(() => service.stop());

/** A table of two versions: one row, two rows. */
beforeEach(async () => {
  table = await db.createTable(`t${++count}`, [{ id: 1 }]);
  await table.add([{ id: 2 }]);
  branches = await table.branches();
});

const ids = async (of: Table) =>
  (await valuesOf(of, 'id')).map(Number).toSorted((left, right) => left - right);

describe('a branch', () => {
  it('begins with the newest version, or with one that is named', async () => {
    const newest = await branches.create('dev');
    const old = await branches.create('feature/old', undefined, 1);
    expect([await ids(newest), await ids(old)]).toEqual([[1, 2], [1]]);
    expect([newest.currentBranch(), table.currentBranch()]).toEqual(['dev', null]);
    const listed = await branches.list();
    expect(Object.keys(listed).toSorted()).toEqual(['dev', 'feature/old']);
    expect(listed['dev']).toMatchObject({ parentVersion: 2 });
    expect(listed['feature/old']).toMatchObject({ parentVersion: 1 });
    expect(listed['dev']?.manifestSize).toBeGreaterThan(0);
    expect(await ids(await branches.create('next', 'dev'))).toEqual([1, 2]);
    expect((await branches.list())['next']).toMatchObject({ parentBranch: 'dev' });
  });

  it('is written to by itself, in every way', async () => {
    const dev = await branches.create('dev');
    await dev.add([{ id: 3 }, { id: 4 }]);
    await dev.update({ where: 'id = 1', values: { id: 10 } });
    await dev.delete('id = 2');
    await dev
      .mergeInsert('id')
      .whenNotMatchedInsertAll()
      .execute([{ id: 3 }, { id: 5 }]);
    await dev.addColumns([{ name: 'twice', valueSql: 'id * 2' }]);
    await dev.alterColumns([{ path: 'twice', rename: 'double' }]);
    expect(await ids(dev)).toEqual([3, 4, 5, 10]);
    expect(await valuesOf(dev.query().where('id = 10'), 'double')).toEqual([20]);
    expect(await dev.countRows('id < 5')).toBe(2);
    expect((await dev.stats()).numRows).toBe(4);
    await dev.dropColumns(['double']);
    expect(await dev.version()).toBe(9);
    expect(await ids(table)).toEqual([1, 2]);
    expect(await table.version()).toBe(2);
    await table.add([{ id: 6 }]);
    expect(await ids(await branches.checkout('dev'))).toEqual([3, 4, 5, 10]);
    await dev.add([{ id: 7 }], { mode: 'overwrite' });
    expect(await ids(dev)).toEqual([7]);
    await dev.checkout(3);
    await dev.restore();
    expect([await ids(dev), await dev.version()]).toEqual([[1, 2, 3, 4], 11]);
    expect(await ids(table)).toEqual([1, 2, 6]);
  });

  it('is opened by its name, at any of its versions', async () => {
    const dev = await branches.create('dev');
    await dev.add([{ id: 3 }]);
    const opened = await db.openTable(table.name, [], { branch: 'dev' });
    expect([opened.currentBranch(), await ids(opened)]).toEqual(['dev', [1, 2, 3]]);
    expect(await ids(await branches.checkout('dev', 1))).toEqual([1]);
    expect(await ids(await branches.checkout('dev', 3))).toEqual([1, 2, 3]);
    const versions = (await dev.listVersions()).map(({ version }) => version);
    expect(versions).toEqual([1, 2, 3]);
    expect(await table.listVersions()).toHaveLength(2);
  });

  it('has versions with tags', async () => {
    const dev = await branches.create('dev');
    await dev.add([{ id: 3 }]);
    await (await dev.tags()).create('v1', 3);
    const tags = await dev.tags();
    expect((await tags.list())['v1']?.version).toBe(3);
    expect(await tags.getVersion('v1')).toBe(3);
    await dev.add([{ id: 4 }]);
    await dev.checkout('v1');
    expect(await ids(dev)).toEqual([1, 2, 3]);
  });
});

describe('the audit log', () => {
  it('names the branch, whether the query or only the body did', async () => {
    const dev = await branches.create('dev');
    await dev.add([{ id: 3 }]);
    await dev.update({ where: 'id = 1', values: { id: 10 } });
    await branches.delete('dev');
    const object = `/${table.name}`;
    const outcomes = (await service.audit()).filter(
      (record) => record['phase'] === 'outcome' && record['object'] === object,
    );
    const branchOf = (operation: string) =>
      outcomes.findLast((record) => record['operation'] === operation)?.['branch'];
    const operations = ['CreateTableBranch', 'InsertIntoTable', 'UpdateTable', 'DeleteTableBranch'];
    expect(operations.map(branchOf)).toEqual(['dev', 'dev', 'dev', 'dev']);
    expect(branchOf('CreateTable')).toBeNull();
  });
});

describe('what is refused', () => {
  it('is said in a way that the client reads', async () => {
    await branches.create('dev');
    await expect(branches.create('dev')).rejects.toThrow(/already has a branch/);
    await expect(branches.create('other', 'nowhere')).rejects.toThrow(/has no branch/);
    await expect(branches.create('other', undefined, 9)).rejects.toThrow(/has no version 9/);
    await expect(branches.create('a..b')).rejects.toThrow(
      'the branch name \\"a..b\\" may not hold \\"..\\" nor be \\".\\" anywhere',
    );
    await expect(branches.checkout('nowhere')).rejects.toThrow("branch 'nowhere' does not exist");
    await expect(branches.delete('nowhere')).rejects.toThrow(/has no branch/);
    expect(Object.keys(await branches.list())).toEqual(['dev']);
  });
});
