import { basename, dirname } from 'node:path';
import type { Connection } from '@lancedb/lancedb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { send } from './http.ts';
import { connectTo, lancedb } from './lancedb.ts';

/** Clients that write to a table's folder first, and continue through the catalog, as Spark does. */

let service: Service;
let client: Connection;

beforeAll(async () => {
  service = await Service.start();
  const headers = { 'x-api-key': ADMIN_KEY };
  client = await lancedb.connectNamespace('rest', { uri: service.url, headers });
});

afterAll(() => service.stop());

async function declared(name: string, properties = {}): Promise<string> {
  const { body } = await send(service, `/v1/table/${name}/declare`, { body: { properties } });
  return (body as { location: string }).location;
}

/** Writes to a folder without the catalog. */
async function beside(location: string) {
  const db = await lancedb.connect(dirname(location));
  const name = basename(location, '.lance');
  return {
    create: () => db.createTable(name, [{ id: 1 }, { id: 2 }]),
    open: () => db.openTable(name),
  };
}

describe('a table that was created in its folder', () => {
  it('takes appends and deletes through the catalog', async () => {
    const folder = await beside(await declared('spark'));
    await folder.create();
    const table = await client.openTable('spark');
    expect(await table.countRows()).toBe(2);
    await table.add([{ id: 3 }]);
    await table.delete('id = 1');
    expect(await table.countRows()).toBe(2);
    expect(await (await folder.open()).countRows()).toBe(2);
    const { body } = await send(service, '/v1/table/spark/version/list', { body: {} });
    expect((body as { versions: object[] }).versions).toHaveLength(3);
  });
});

describe('a table that allows external writes', () => {
  it('shows the commits of either way to both', async () => {
    const folder = await beside(await declared('ray', { external_writes: 'adopt' }));
    await folder.create();
    const table = await client.openTable('ray');
    await table.add([{ id: 3 }]);
    await (await folder.open()).add([{ id: 4 }]);
    await table.checkoutLatest();
    expect(await table.countRows()).toBe(4);
    await table.add([{ id: 5 }]);
    expect(await (await folder.open()).countRows()).toBe(5);
  });
});

describe('a namespace that allows external writes', () => {
  const properties = { external_writes: 'adopt', 'table.format': 'lance' };

  beforeAll(async () => {
    const body = { properties };
    expect((await send(service, '/v1/namespace/open/create', { body })).status).toBe(200);
    expect((await send(service, '/v1/namespace/open$inner/create', { body: {} })).status).toBe(200);
  });

  async function describedAs(name: string): Promise<unknown> {
    const { body } = await send(service, `/v1/table/${name}/describe`, { body: {} });
    return (body as { properties: object }).properties;
  }

  it('has tables that allow them', async () => {
    const location = await declared('open$inner$declared', { owner: 'ray' });
    await (await beside(location)).create();
    expect(await describedAs('open$inner$declared')).toEqual({
      owner: 'ray',
      external_writes: 'adopt',
    });
    await (await (await beside(location)).open()).add([{ id: 3 }]);
    const served = await (await connectTo(service)).openTable('declared', ['open', 'inner']);
    expect(await served.countRows()).toBe(3);
    await send(service, '/v1/table/open$inner$declared/deregister', { body: {} });
    const body = { location };
    await send(service, '/v1/table/open$registered/register', { body });
    expect(await describedAs('open$registered')).toEqual({ external_writes: 'adopt' });
  });

  it('has tables of CreateTable that allow them', async () => {
    const table = await (await connectTo(service)).createTable('made', [{ id: 1 }], ['open']);
    const { body } = await send(service, '/v1/table/open$made/describe', { body: {} });
    const { location } = body as { location: string };
    await (await (await beside(location)).open()).add([{ id: 2 }]);
    expect(await table.countRows()).toBe(2);
    await table.add([{ id: 3 }]);
    expect(await (await (await beside(location)).open()).countRows()).toBe(3);
  });

  it('has tables that say otherwise', async () => {
    const location = await declared('open$kept', { external_writes: 'refuse' });
    await (await beside(location)).create();
    expect(await describedAs('open$kept')).toEqual({ external_writes: 'refuse' });
    await (await (await beside(location)).open()).add([{ id: 3 }]);
    const served = await (await connectTo(service)).openTable('kept', ['open']);
    expect(await served.countRows()).toBe(2);
  });
});
