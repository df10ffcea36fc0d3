import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Connection, Table } from '@lancedb/lancedb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { arrow, lancedb, rowsOf, tableOf } from '../clients/lancedb.ts';
import { Child } from '../support/child.ts';
import { waitUntil } from '../support/eventually.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { send, type Reply, type Sent } from './http.ts';

/** Commit rules that need rows judge the commits of the service and of clients to Lance tables. */

const RULES = `rules:
  - { name: positive, tables: [/own, /theirs, /first1, /made, /forked, /known, /known2], require: { check: "n > 0" } }
  - { name: keyed, tables: [/rows, /raced], require: { unique: [id] } }
  - { name: once, tables: [/keys], require: { unique: [id] } }
  - { name: noted, tables: [/warned], mode: warn, require: { check: "n > 0" } }
  - { name: large, tables: [/large], require: { unique: [id] } }
`;

const CONFIG = `tables: { formats: [{ tables: [/made], format: lance }] }
lance: { rules: { bytes: 1MiB } }
`;

let service: Service;
let client: Connection;

beforeAll(async () => {
  service = await Service.start({ commits: RULES, config: CONFIG });
  await connect();
});

afterAll(() => service.stop());

async function connect(): Promise<void> {
  const headers = { 'x-api-key': ADMIN_KEY };
  client = await lancedb.connectNamespace('rest', { uri: service.url, headers });
}

type Row = readonly [id: number | null, n: number];

function rowsTable(rows: readonly Row[]) {
  return tableOf([
    { name: 'id', type: new arrow.Int32(), values: rows.map(([id]) => id) },
    { name: 'n', type: new arrow.Int32(), values: rows.map(([, n]) => n) },
  ]);
}

function streamOf(rows: readonly Row[]): Uint8Array {
  return arrow.tableToIPC(rowsTable(rows), 'stream');
}

function made(name: string, rows: readonly Row[]): Promise<Table> {
  return client.createTable(name, rowsTable(rows));
}

function ask(name: string, action: string, sent: Sent = { body: {} }): Promise<Reply> {
  return send(service.url, `POST /v1/table/${name}/${action}`, sent);
}

function insert(name: string, rows: readonly Row[], query = ''): Promise<Reply> {
  return ask(name, `insert${query}`, { body: streamOf(rows) });
}

/** What a refused request was told. */
function said({ status, json }: Reply): readonly unknown[] {
  return [status, json['code'], json['error']];
}

async function idsIn(table: Table): Promise<readonly unknown[]> {
  await table.checkoutLatest();
  return (await rowsOf(table.query()))
    .map(({ id }) => id)
    .toSorted((a, b) => Number(a) - Number(b));
}

const WRITER = new URL('../clients/managed-writer.ts', import.meta.url);

/** Lets a program write with a Lance client until the service has refused it; the client would try for minutes. */
async function refusedOf(
  name: string,
  kind: string,
  id: number,
  object = `/${name}`,
): Promise<readonly unknown[]> {
  const commits = async () =>
    (await service.audit()).filter(
      (record) =>
        record['phase'] === 'outcome' &&
        record['operation'] === 'CreateTableVersion' &&
        record['object'] === object &&
        record['status'] !== 200,
    );
  const before = (await commits()).length;
  const child = new Child(WRITER, [service.url, ADMIN_KEY, name, kind, String(id), '1']);
  try {
    await waitUntil(async () => (await commits()).length > before);
    const [first] = (await commits()).slice(before);
    return [first?.['status'], first?.['code']];
  } finally {
    await child.kill();
  }
}

async function leftovers(): Promise<readonly string[]> {
  return readdir(join(service.data, 'tables'));
}

describe('a check', () => {
  it('refuses changes by the service that bring a row of which it is not true', async () => {
    const table = await made('own', [[1, 1]]);
    const sentence =
      'the commit rule positive refuses this of /own: the check "n > 0" is not true of a row with n = -2';
    const bad: readonly Row[] = [
      [2, 5],
      [3, -2],
    ];
    expect(said(await insert('own', bad))).toEqual([400, 20, sentence]);
    const update = await ask('own', 'update', { body: { updates: [['n', 'n - 3']] } });
    expect(said(update)).toEqual([400, 20, sentence]);
    const merge = 'merge_insert?on=id&when_not_matched_insert_all=true';
    expect(said(await ask('own', merge, { body: streamOf(bad) }))).toEqual([400, 20, sentence]);
    expect((await ask('own', 'describe')).json['version']).toBe(1);
    expect((await insert('own', [[2, 5]])).status).toBe(200);
    expect((await ask('own', 'delete', { body: { predicate: 'id = 2' } })).status).toBe(200);
    expect(await idsIn(table)).toEqual([1]);
    expect(await leftovers()).toEqual([]);
  });

  it('refuses commits of Lance clients, and their next one is made', async () => {
    await made('theirs', [[1, 1]]);
    expect(await refusedOf('theirs', 'append', 2)).toEqual([400, 20]);
    const again = await client.openTable('theirs');
    await again.add([{ id: 3, n: 4 }]);
    await again.update({ values: { n: '9' }, where: 'id = 3' });
    await again.optimize();
    expect(await idsIn(again)).toEqual([1, 3]);
    expect(await refusedOf('first', 'create', 1, '/first1')).toEqual([400, 20]);
    expect(await leftovers()).toEqual([]);
  });

  it('refuses a table that CreateTable would make', async () => {
    const body = streamOf([[1, -1]]);
    const refused = await ask('made', 'create', { body });
    expect([refused.status, refused.json['code']]).toEqual([400, 20]);
    expect((await ask('made', 'create', { body: streamOf([[1, 1]]) })).status).toBe(200);
  });

  it('judges only what a commit brings, on a branch as well', async () => {
    await made('forked', [[1, 1]]);
    const table = await client.openTable('forked');
    await (await table.branches()).create('dev');
    expect((await insert('forked', [[2, -7]], '?branch=dev')).status).toBe(400);
    expect((await insert('forked', [[2, 7]], '?branch=dev')).status).toBe(200);
    expect((await insert('forked', [[3, -7]], '?branch=dev')).status).toBe(400);
    expect((await ask('forked', 'count_rows')).text).toBe('1');
  });

  it('that only warns is recorded', async () => {
    await client.createTable('warned', rowsTable([[1, 1]]));
    expect((await insert('warned', [[2, -1]])).status).toBe(200);
    const records = (await service.audit()).filter(
      ({ object, operation, phase }) =>
        object === '/warned' && operation === 'InsertIntoTable' && phase === 'outcome',
    );
    expect(records).toMatchObject([{ commit: { rules: ['noted (warned)'] } }]);
  });
});

describe('a table that is registered', () => {
  /** Writes a table in the folder of Lance clients. Returns its location. */
  async function written(name: string, rows: readonly Row[]): Promise<string> {
    const folder = join(service.data, 'lance');
    await (await lancedb.connect(folder)).createTable(name, rowsTable(rows));
    return join(folder, `${name}.lance`);
  }

  const register = async (name: string, location: string) =>
    said(await ask(name, 'register', { body: { location } }));

  it('is judged by all of its rows, on each branch', async () => {
    const location = await written('known', [[1, 1]]);
    const table = await (await lancedb.connect(join(location, '..'))).openTable('known');
    await table.add([{ id: 2, n: -2 }]);
    expect(await register('known', location)).toEqual([
      400,
      20,
      'the commit rule positive refuses this of /known: the check "n > 0" is not true of a row with n = -2',
    ]);
    expect((await ask('known', 'describe')).status).toBe(404);
    await table.delete('n < 0');
    const branch = await (await table.branches()).create('dev');
    await branch.add([{ id: 3, n: -3 }]);
    expect((await register('known', location))[2]).toContain('n = -3');
    await branch.delete('n < 0');
    expect(await register('known', location)).toEqual([200, undefined, undefined]);
    expect((await insert('known', [[4, -1]])).status).toBe(400);
    expect(await leftovers()).toEqual([]);
  });

  it('has no key twice where keys are unique', async () => {
    const twice = await written('twice', [
      [7, 1],
      [8, 1],
      [7, 2],
    ]);
    expect((await register('keys', twice))[2]).toContain('several rows would have id = 7');
    const once = await written('single', [
      [7, 1],
      [8, 1],
    ]);
    expect(await register('keys', once)).toEqual([200, undefined, undefined]);
  });

  it('shows nothing of the rows of another table', async () => {
    const secret = await written('secret', [[1, -41]]);
    const db = await lancedb.connect(join(secret, '..'));
    const { inner } = db as unknown as {
      inner: { cloneTable: (...parameters: readonly unknown[]) => Promise<unknown> };
    };
    await inner.cloneTable('shallow', secret, [], null, null, true);
    const [status, code, sentence] = await register('known2', join(secret, '../shallow.lance'));
    expect([status, code]).toEqual([400, 20]);
    expect(sentence).toContain('cannot be judged');
  });
});

describe('unique', () => {
  it('refuses a key that another row has, of the commit or of the table', async () => {
    const table = await made('rows', [
      [1, 1],
      [2, 1],
      [null, 1],
    ]);
    const twice = (id: number) =>
      `the commit rule keyed refuses this of /rows: several rows would have id = ${id}, and no two may`;
    expect(said(await insert('rows', [[2, 9]]))).toEqual([400, 20, twice(2)]);
    expect(
      said(
        await insert('rows', [
          [7, 9],
          [7, 9],
        ]),
      ),
    ).toEqual([400, 20, twice(7)]);
    expect(await refusedOf('rows', 'append', 1)).toEqual([400, 20]);
    expect((await insert('rows', [[null, 2]])).status).toBe(200);
    expect((await ask('rows', 'delete', { body: { predicate: 'id = 2' } })).status).toBe(200);
    expect((await insert('rows', [[2, 9]])).status).toBe(200);
    expect((await idsIn(table)).filter((id) => id !== null)).toEqual([1, 2]);
  });

  it('holds between writers at once, of both kinds', async () => {
    const table = await made('raced', [[0, 0]]);
    const other = [101, 102, 103].map((id) => [{ id, n: 1 }]);
    const adding = other.reduce<Promise<unknown>>(
      async (before, rows) => before.then(() => table.add(rows)),
      Promise.resolve(),
    );
    for (let id = 1; id <= 3; id++) {
      const writes = [1, 2, 3, 4].map((n) => insert('raced', [[id, n]]));
      const statuses = (await Promise.all(writes)).map(({ status }) => status);
      expect(statuses.filter((status) => status === 200).length).toBe(1);
    }
    await adding;
    expect(await idsIn(table)).toEqual([0, 1, 2, 3, 101, 102, 103]);
  });

  it('refuses what is more than the configured bytes to read', async () => {
    const ids = (from: number, count: number): readonly Row[] =>
      Array.from({ length: count }, (_, at) => [from + at, 1] as const);
    await made('large', ids(0, 1000));
    expect((await insert('large', ids(1000, 1000))).status).toBe(200);
    expect(said(await insert('large', ids(2000, 300_000)))).toEqual([
      400,
      20,
      'the commit rule large refuses this of /large: unique ["id"] cannot be judged: more than 1048576 bytes of the table would have to be read (lance.rules.bytes)',
    ]);
    expect(await leftovers()).toEqual([]);
  });
});
