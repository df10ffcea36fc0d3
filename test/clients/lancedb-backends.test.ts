import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { connectTo, rowsOf } from './lancedb.ts';

/** The engine, a gateway before it, and another before that. */
let engine: Service;
let middle: Service;
let front: Service;

const POLICY = 'p, role:admin, /**, *, allow\np, role:reader, /shop/**, read, allow\n';

function before({ url }: Service, trust: string): Promise<Service> {
  return Service.start({
    policy: POLICY,
    variables: { NEXT_KEY: `Bearer ${ADMIN_KEY}` },
    config: `
backends:
  - { name: next, type: http, url: "${url}", namespaces: ["/**"], credential_env: NEXT_KEY, trust: [${trust}] }
`,
  });
}

beforeAll(async () => {
  engine = await Service.start();
  middle = await before(engine, '"*"');
  front = await before(middle, 'create, drop, describe');
});

afterAll(async () => {
  await front?.stop();
  await middle?.stop();
  await engine?.stop();
});

describe('The LanceDB client through two gateways to an engine', () => {
  it('makes, fills, searches, changes and drops tables', async () => {
    const db = await connectTo(front);
    await db.createNamespace(['shop']);
    const vectors = Array.from({ length: 500 }, (_, id) => ({
      id,
      vector: [id, 0, 1],
      note: `n${id}`,
    }));
    const table = await db.createTable('goods', vectors, ['shop']);
    await table.add([{ id: 500, vector: [500, 0, 1], note: 'last' }]);
    expect(await table.countRows()).toBe(501);
    const near = await table.search([250, 0, 1]).limit(1).toArray();
    expect(near.map(({ id }) => id)).toEqual([250]);
    await table.update({ where: 'id = 500', values: { note: 'first' } });
    await table.delete('id < 490');
    await table
      .mergeInsert('id')
      .whenNotMatchedInsertAll()
      .execute([{ id: 501, vector: [0, 0, 0], note: 'merged' }]);
    expect(await rowsOf(table.query().where('id >= 500').select(['id', 'note']))).toEqual([
      { id: 500, note: 'first' },
      { id: 501, note: 'merged' },
    ]);
    expect(await table.version()).toBe(5);
    expect(await db.tableNames(['shop'])).toEqual(['goods']);
    const past = await db.openTable('goods', ['shop']);
    await past.checkout(1);
    expect(await past.countRows()).toBe(500);
    await expect(db.openTable('none', ['shop'])).rejects.toThrow(/not found/i);
    await db.dropTable('goods', ['shop']);
    expect(await db.tableNames(['shop'])).toEqual([]);
  });

  it('has its rights decided by the first', async () => {
    const db = await connectTo(front);
    await db.createTable('open', [{ id: 1 }], ['shop']);
    const theirs = await connectTo(front, await front.key('user:rita', 'role:reader'));
    const table = await theirs.openTable('open', ['shop']);
    expect(await table.countRows()).toBe(1);
    await expect(table.add([{ id: 2 }])).rejects.toThrow('user:rita may not InsertIntoTable');
    expect(await table.countRows()).toBe(1);
  });
});
