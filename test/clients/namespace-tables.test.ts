import { mkdtemp, readdir, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Connection } from '@lancedb/lancedb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { send } from './http.ts';
import { connectTo, errorOf, lancedb, refusalOf, rowsOf } from './lancedb.ts';

/** Tables that the namespace client writes itself: the catalog gives them names and places. */

const ROWS = [{ id: 1 }, { id: 2 }];
const policy = `p, role:admin, /**, *, allow
g, user:admin, role:admin
p, user:maker, /ns/**, create, allow
`;

let service: Service;
let client: Connection;
let db: Connection;

beforeAll(async () => {
  service = await Service.start({ policy });
  client = await connectAs(ADMIN_KEY);
  db = await connectTo(service);
  await client.createNamespace(['ns']);
});

afterAll(() => service.stop());

function connectAs(key: string): Promise<Connection> {
  return lancedb.connectNamespace('rest', { uri: service.url, headers: { 'x-api-key': key } });
}

async function messageOf(call: Promise<unknown>): Promise<string> {
  return (await errorOf(call)).message;
}

interface Described {
  readonly location: string;
}

async function describeTable(id: string): Promise<Described> {
  return (await send(service, `/v1/table/${id}/describe`)).body as Described;
}

/** What the service was asked of a table, and how it answered. */
async function askedOf(object: string): Promise<readonly string[]> {
  return (await service.audit())
    .filter((line) => line['phase'] === 'outcome' && line['object'] === object)
    .map((line) => `${String(line['operation'])} ${String(line['status'])}`);
}

describe('a table that the client makes', () => {
  it('is declared, written to its own folder and committed', async () => {
    const created = await client.createTable('made', ROWS, ['ns']);
    expect(await created.countRows()).toBe(2);
    expect((await askedOf('/ns/made')).filter((line) => !line.startsWith('List'))).toEqual([
      'DeclareTable 200',
      'CreateTableVersion 200',
    ]);
    const { location } = await describeTable('ns$made');
    expect(location).toMatch(new RegExp(`^${join(service.data, 'lance')}/[0-9a-f-]{36}\\.lance$`));
    const files = await readdir(location, { recursive: true });
    expect(files.filter((name) => /^data\/.*\.lance$/.test(name))).toHaveLength(1);
    expect(files.filter((name) => name.includes('.manifest'))).toHaveLength(1);
  });

  it('is declared once: the client goes on where it is', async () => {
    const { location } = await describeTable('ns$made');
    const again = await client.createTable('made', [{ id: 7 }], ['ns'], { mode: 'overwrite' });
    expect(await again.version()).toBe(2);
    expect(await rowsOf(again.query())).toEqual([{ id: 7 }]);
    expect(await describeTable('ns$made')).toMatchObject({ location, version: 2 });
    expect(await messageOf(client.createTable('made', ROWS, ['ns']))).toBe(
      "Table 'made' already exists",
    );
  });

  it('is listed, and has nothing to open before its first commit', async () => {
    await send(service, '/v1/table/ns$empty/declare');
    expect(await client.tableNames(['ns'])).toEqual(['empty', 'made']);
    expect(await messageOf(client.openTable('empty', ['ns']))).toContain(
      "Table 'empty' was not found",
    );
  });

  it('has no rows for a client that leaves them to the service', async () => {
    const table = await db.openTable('empty', ['ns']);
    const empty = { status: 400, code: 19, error: 'table /ns/empty is declared and has no data' };
    expect(await refusalOf(table.countRows())).toMatchObject(empty);
    expect(await refusalOf(table.delete('true'))).toMatchObject(empty);
    expect(await refusalOf(table.query().toArray())).toMatchObject(empty);
    expect(await table.stats()).toMatchObject({ numRows: 0, totalBytes: 0 });
    expect(await table.listVersions()).toEqual([]);
  });

  it('is renamed, and dropped with its files where they were', async () => {
    const { location } = await describeTable('ns$made');
    await client.renameTable('made', 'renamed', { namespacePath: ['ns'] });
    expect(await describeTable('ns$renamed')).toMatchObject({ location });
    await client.dropTable('renamed', ['ns']);
    await client.dropTable('empty', ['ns']);
    expect(await client.tableNames(['ns'])).toEqual([]);
    expect(await readdir(location)).toContain('data');
  });

  it('needs no more than the right to create, as far as its folder', async () => {
    const maker = await connectAs(await service.key('maker'));
    await errorOf(maker.createTable('theirs', ROWS, ['ns']));
    const asked = await askedOf('/ns/theirs');
    expect(asked[0]).toBe('DeclareTable 200');
    expect(asked).toContain('CreateTableVersion 403');
    expect((await describeTable('ns$theirs')).location).toContain(join(service.data, 'lance'));
    await client.dropTable('theirs', ['ns']);
  });

  it('is still declared after a restart', async () => {
    const declared = await send(service, '/v1/table/ns$kept/declare', {
      body: { properties: { a: '1' } },
    });
    await service.end('SIGKILL');
    await service.restart();
    client = await connectAs(ADMIN_KEY);
    db = await connectTo(service);
    expect(await describeTable('ns$kept')).toMatchObject(declared.body as object);
    expect(await readdir((declared.body as Described).location)).toEqual([]);
  });
});

describe('a table that was written before', () => {
  let location: string;

  beforeAll(async () => {
    const folder = join(service.data, 'lance', 'sets');
    const table = await (await lancedb.connect(folder)).createTable('set', ROWS);
    await table.add([{ id: 3 }]);
    location = join(folder, 'set.lance');
    const registered = await send(service, '/v1/table/ns$set/register', {
      body: { location, properties: { owner: 'ann' } },
    });
    expect(registered).toMatchObject({
      status: 200,
      body: { location, properties: { owner: 'ann' } },
    });
  });

  it('is described with its place, and as the newest version is', async () => {
    expect(await describeTable('ns$set')).toEqual({
      table: 'set',
      namespace: ['ns'],
      properties: { owner: 'ann' },
      is_only_declared: false,
      version: 2,
      schema: { fields: [{ name: 'id', type: { type: 'float64' }, nullable: true }] },
      metadata: {},
      stats: { num_deleted_rows: 0, num_fragments: 2 },
      location,
      managed_versioning: true,
    });
  });

  it('is read by the client itself', async () => {
    const table = await client.openTable('set', ['ns']);
    expect(await table.version()).toBe(2);
    expect(await rowsOf(table.query())).toEqual([...ROWS, { id: 3 }]);
    expect(await table.countRows('id > 1')).toBe(2);
  });

  it('is committed to by the client, old versions and all', async () => {
    const table = await client.openTable('set', ['ns']);
    await table.add([{ id: 4 }]);
    expect(await describeTable('ns$set')).toMatchObject({ version: 3 });
    await table.checkout(1);
    expect(await table.countRows()).toBe(2);
    await table.checkoutLatest();
    await table.delete('id = 4');
    expect(await rowsOf(table.query())).toEqual([...ROWS, { id: 3 }]);
  });

  it('is not made again', async () => {
    const files = await readdir(location, { recursive: true });
    const create = client.createTable('set', ROWS, ['ns']);
    expect(await messageOf(create)).toBe("Table 'set' already exists");
    const manifests = (names: readonly string[]) =>
      names.filter((name) => name.endsWith('.manifest'));
    expect(manifests(await readdir(location, { recursive: true }))).toEqual(manifests(files));
  });

  it('is read and changed through the service', async () => {
    const table = await db.openTable('set', ['ns']);
    expect(await rowsOf(table.query())).toEqual([...ROWS, { id: 3 }]);
    await table.add([{ id: 5 }]);
    await table.delete('id = 5');
    expect(await table.listIndices()).toEqual([]);
  });

  it('tells a client of the service what its manifest says', async () => {
    const table = await db.openTable('set', ['ns']);
    expect(String(await table.schema())).toBe('Schema<{ 0: id: Float64 }>');
    expect(await table.version()).toBe(6);
    expect(await table.stats()).toMatchObject({ numRows: 3, fragmentStats: { numFragments: 2 } });
  });

  it('is deregistered, and registered under another name', async () => {
    const gone = await send(service, '/v1/table/ns$set/deregister');
    expect(gone.body).toEqual({ id: ['ns', 'set'], location, properties: { owner: 'ann' } });
    expect(await messageOf(client.openTable('set', ['ns']))).toContain("Table 'set' was not found");
    await send(service, '/v1/table/other/register', { body: { location: `file://${location}` } });
    expect(await rowsOf((await client.openTable('other')).query())).toHaveLength(3);
  });

  it('is dropped, and its files stay for as long as it could be brought back', async () => {
    await client.dropTable('other');
    expect(await client.tableNames()).toEqual([]);
    const table = await (await lancedb.connect(join(location, '..'))).openTable('set');
    expect(await table.countRows()).toBe(3);
  });
});

describe('a folder that the configuration allows', () => {
  it('holds tables that are registered and declared, and no other folder does', async () => {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'allowed-')));
    const config = `locations: { allowed: [${JSON.stringify(folder)}] }\n`;
    const other = await Service.start({ policy, config });
    try {
      await (await lancedb.connect(folder)).createTable('set', ROWS);
      const location = join(folder, 'set.lance');
      const register = (where: Service) =>
        send(where, '/v1/table/set/register', { body: { location } });
      expect(await register(other)).toMatchObject({ status: 200, body: { location } });
      expect(await register(service)).toMatchObject({
        status: 400,
        body: {
          code: 13,
          error: `the location ${JSON.stringify(location)} lies outside the folders where tables may be`,
        },
      });
      const body = { location: join(folder, 'new') };
      const declared = await send(other, '/v1/table/new/declare', { body });
      expect(declared).toMatchObject({ status: 200, body });
      expect(await readdir(folder)).toContain('new');
    } finally {
      await other.stop();
      await rm(folder, { recursive: true, force: true });
    }
  });
});
