import { randomUUID } from 'node:crypto';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Connection } from '@lancedb/lancedb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { arrow, connectTo, lancedb, refusalOf, rowsOf, tableOf } from '../clients/lancedb.ts';
import { casesOf } from '../support/cases.ts';
import { waitUntil } from '../support/eventually.ts';
import { childrenOf, signalAll } from '../support/processes.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { send, type Reply, type Sent } from './http.ts';

/** The first insert into a declared table makes a Lance table where the configuration says so. */

const RULES = `rules:
  - { name: small, tables: [/lake/ruled], require: { max_rows: 2 } }
  - { name: added, tables: [/lake/added], operations: [append], require: { check: "id > 0" } }
`;

const CONFIG = `tables:
  formats:
    - { tables: [/lake/**], format: lance }
`;

let service: Service;
let clients: Connection;
let lance: Connection;

beforeAll(async () => {
  service = await Service.start({ commits: RULES, config: CONFIG });
  await connect();
  for (const name of ['lake', 'plain'])
    await send(service.url, `POST /v1/namespace/${name}/create`, { body: {} });
});

afterAll(() => service.stop());

async function connect(): Promise<void> {
  const headers = { 'x-api-key': ADMIN_KEY };
  clients = await connectTo(service);
  lance = await lancedb.connectNamespace('rest', { uri: service.url, headers });
}

function ask(name: string, action: string, sent: Sent = { body: {} }): Promise<Reply> {
  return send(service.url, `POST /v1/table/${name}/${action}`, sent);
}

function streamOf(ids: readonly number[], metadata?: ReadonlyMap<string, string>): Uint8Array {
  const columns = [{ name: 'id', type: new arrow.Int32(), values: ids }];
  return arrow.tableToIPC(tableOf(columns, new Map(metadata)), 'stream');
}

function insert(name: string, ids: readonly number[], query = '', sent: Sent = {}): Promise<Reply> {
  return ask(name, `insert${query}`, { body: streamOf(ids), ...sent });
}

async function idsIn(name: string): Promise<readonly number[]> {
  const [namespace = '', table = ''] = name.split('$');
  const rows = await rowsOf((await lance.openTable(table, [namespace])).query());
  return rows.map(({ id }) => Number(id)).toSorted((a, b) => a - b);
}

describe('the first insert into a declared table', () => {
  it('makes its first version, which Lance clients read and write', async () => {
    await ask('lake$first', 'declare');
    const { status, json } = await insert('lake$first', [1, 2]);
    expect([status, json]).toEqual([200, { version: 1, num_inserted_rows: 2 }]);
    await (await lance.openTable('first', ['lake'])).add([{ id: 3 }]);
    expect((await insert('lake$first', [4])).json['version']).toBe(3);
    expect(await idsIn('lake$first')).toEqual([1, 2, 3, 4]);
    const [, outcome] = (await service.audit()).filter(
      ({ operation, object }) => operation === 'InsertIntoTable' && object === '/lake/first',
    );
    expect(outcome).toMatchObject({ commit: { kind: 'create', version: 1, rows_added: 2 } });
  });

  it('gives LanceDB clients a table to open', async () => {
    await ask('lake$client', 'declare');
    await ask('lake$client', 'insert/', { body: streamOf([5]) });
    const table = await clients.openTable('client', ['lake']);
    await table.add([{ id: 6 }]);
    expect((await rowsOf(table.query().where('id > 5'))).length).toBe(1);
    expect(await idsIn('lake$client')).toEqual([5, 6]);
  });

  it.each(['lake', 'plain'])('is a create for LanceDB clients, in %s', async (namespace) => {
    await ask(`${namespace}$asked`, 'declare');
    const opened = await clients.openTable('asked', [namespace]);
    const refused = {
      status: 400,
      code: 19,
      error: `table /${namespace}/asked is declared and has no data: create it by create_table with its first rows and mode "overwrite"`,
    };
    expect(await refusalOf(opened.add([{ id: 1 }]))).toMatchObject(refused);
    expect(await refusalOf(opened.schema())).toMatchObject(refused);
    const options = { mode: 'overwrite' } as const;
    const made = await clients.createTable('asked', [{ id: 1 }], [namespace], options);
    await made.add([{ id: 2 }]);
    const again = await clients.openTable('asked', [namespace]);
    expect(await again.countRows()).toBe(2);
    const location = (await ask(`${namespace}$asked`, 'describe')).json['location'];
    expect(location === undefined).toBe(namespace === 'plain');
  });

  it('overwrites nothing, and keeps the metadata of the schema', async () => {
    await ask('lake$over', 'declare');
    const body = streamOf([1], new Map([['owner', 'ann']]));
    const made = await insert('lake$over', [], '?mode=overwrite', { body });
    expect([made.status, made.json['version']]).toEqual([200, 1]);
    expect((await ask('lake$over', 'describe')).json).toMatchObject({
      schema: { metadata: { owner: 'ann' } },
    });
  });

  it('has effect once when it is repeated', async () => {
    await ask('lake$once', 'declare');
    const headers = { 'x-request-id': randomUUID() };
    const first = await insert('lake$once', [1, 2], '', { headers });
    const again = await insert('lake$once', [1, 2], '', { headers });
    expect([first.status, again.status, again.json]).toEqual([200, 200, first.json]);
    expect(again.headers['x-arrowgate-replayed']).toBe('true');
    expect(await idsIn('lake$once')).toEqual([1, 2]);
  });

  const races = casesOf(12, 100);

  it(`adds its rows where another writer was first, ${races} times`, async () => {
    const ids = [1, 2, 3, 4, 5, 6];
    for (let race = 0; race < races; race++) {
      const name = `lake$raced${race}`;
      await ask(name, 'declare');
      const replies = await Promise.all(ids.map((id) => insert(name, [id])));
      expect(replies.map(({ status, text }) => (status === 200 ? 200 : text))).toEqual(
        ids.map(() => 200),
      );
      expect(await idsIn(name)).toEqual(ids);
    }
  });

  it('adds its rows to versions that a Lance client wrote without the catalog', async () => {
    const { json } = await ask('lake$written', 'declare');
    const folder = String(json['location']);
    const db = await lancedb.connect(join(folder, '..'));
    const name = folder.slice(folder.lastIndexOf('/') + 1, -'.lance'.length);
    const rows = tableOf([{ name: 'id', type: new arrow.Int32(), values: [1] }]);
    await db.createTable(name, rows);
    expect((await insert('lake$written', [2])).json['version']).toBe(2);
    expect(await idsIn('lake$written')).toEqual([1, 2]);
  });

  it('lies where the table was declared', async () => {
    const location = join(service.data, 'lance', 'chosen');
    await mkdir(location);
    expect((await ask('lake$placed', 'declare', { body: { location } })).status).toBe(200);
    expect((await insert('lake$placed', [1])).status).toBe(200);
    expect(await readdir(location)).toEqual(expect.arrayContaining(['_versions', 'data']));
  });
});

describe('a first insert that is refused', () => {
  it.each([
    ['lake$ruled', [1, 2, 3], [1, 2]],
    ['lake$added', [-1], [1]],
  ])('by a commit rule leaves %s declared', async (name, bad, good) => {
    await ask(name, 'declare');
    const refused = await insert(name, bad);
    expect([refused.status, refused.json['code']]).toEqual([400, 20]);
    expect((await ask(name, 'describe')).json['version']).toBeUndefined();
    expect((await insert(name, good)).json['version']).toBe(1);
    expect(await idsIn(name)).toEqual(good);
  });

  it('for its rows leaves the table declared', async () => {
    await ask('lake$bad', 'declare');
    const cut = await insert('lake$bad', [], '', { body: streamOf([1]).subarray(0, 100) });
    expect([cut.status, cut.json['code']]).toEqual([400, 13]);
    const columns = [{ name: 'a.b', type: new arrow.Int32(), values: [1] }];
    const dotted = arrow.tableToIPC(tableOf(columns), 'stream');
    const refused = await insert('lake$bad', [], '', { body: dotted });
    expect([refused.status, refused.json['code']]).toEqual([400, 20]);
    expect((await ask('lake$bad', 'describe')).json['version']).toBeUndefined();
  });

  it('for its branch says that there is none', async () => {
    await ask('lake$branch', 'declare');
    const { status, json } = await insert('lake$branch', [1], '?branch=dev');
    expect([status, json['code']]).toEqual([404, 22]);
  });

  it('is one of a table whose format is another one', async () => {
    await ask('plain$declared', 'declare');
    const { status, json } = await insert('plain$declared', [1]);
    expect([status, json['code']]).toEqual([409, 19]);
  });
});

describe('a crash', () => {
  const kills = casesOf(3, 30);

  it(`leaves each table declared or with all rows, ${kills} times`, async () => {
    const acknowledged: string[] = [];
    const tried: string[] = [];
    for (let kill = 0; kill < kills; kill++) {
      const isService = kill % 3 === 2;
      const state = { isDone: false };
      const write = async (writer: number): Promise<void> => {
        for (let at = 0; !state.isDone; at++) {
          const name = `lake$k${kill}x${writer}x${at}`;
          const declared = await ask(name, 'declare').catch(() => undefined);
          if (declared?.status !== 200) return;
          tried.push(name);
          const reply = await insert(name, [at, at + 1]).catch(() => undefined);
          if (reply?.status === 200) acknowledged.push(name);
          if (reply === undefined) return;
        }
      };
      const writers = [0, 1, 2].map(write);
      const goal = acknowledged.length + 3 + (kill % 4);
      await waitUntil(() => acknowledged.length >= goal);
      if (isService) await service.end('SIGKILL');
      else signalAll(await childrenOf(service.pid), 'SIGKILL');
      state.isDone = true;
      await Promise.all(writers);
      if (!isService) continue;
      await service.restart();
      await connect();
    }
    for (const name of tried) {
      const { json } = await ask(name, 'describe');
      const isMade = acknowledged.includes(name) || json['version'] !== undefined;
      if (!isMade) await insert(name, [1, 2]);
      expect((await ask(name, 'count_rows')).text).toBe('2');
    }
    await service.end();
    const verified = await service.command('catalog', 'verify');
    expect([verified.code, verified.out + verified.err]).toEqual([
      0,
      expect.stringContaining('nothing is wrong'),
    ]);
  });
});

describe('without the library', () => {
  it('a declared table stays without rows', async () => {
    await service.end();
    await service.configure(`${CONFIG}lance: { engine: off }\n`);
    await service.restart();
    await ask('lake$none', 'declare');
    const { status, json } = await insert('lake$none', [1]);
    expect([status, json['error']]).toEqual([
      406,
      'table /lake/none would be a Lance table, which the Lance library writes: set lance.engine to auto',
    ]);
  });
});
