import { randomUUID } from 'node:crypto';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Connection } from '@lancedb/lancedb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { arrow, connectTo, lancedb, rowsOf, tableOf } from '../clients/lancedb.ts';
import { casesOf } from '../support/cases.ts';
import { waitUntil } from '../support/eventually.ts';
import { childrenOf, signalAll } from '../support/processes.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { send, type Reply, type Sent } from './http.ts';

/** CreateTable makes Lance tables where the configuration says so. */

const CONFIG = `tables:
  formats:
    - { tables: [/lake/**, /ruled/**], format: lance }
`;

const RULES = `rules:
  - { name: small, tables: [/ruled/**], require: { max_rows: 2 } }
  - { name: kept, tables: [/ruled/kept], require: { no_drop: true } }
  - { name: placed, tables: [/ruled/bound], require: { locations: [/nowhere] } }
`;

let service: Service;
let clients: Connection;
let lance: Connection;

beforeAll(async () => {
  service = await Service.start({ commits: RULES, config: CONFIG });
  await connect();
  for (const name of ['lake', 'ruled', 'plain']) {
    await send(service.url, `POST /v1/namespace/${name}/create`, { body: {} });
  }
});

afterAll(() => service.stop());

async function connect(): Promise<void> {
  const headers = { 'x-api-key': ADMIN_KEY };
  clients = await connectTo(service);
  lance = await lancedb.connectNamespace('rest', { uri: service.url, headers });
}

function streamOf(ids: readonly number[], name = 'id'): Uint8Array {
  const rows = tableOf([{ name, type: new arrow.Int32(), values: ids }]);
  return arrow.tableToIPC(rows, 'stream');
}

function ask(name: string, action: string, sent: Sent = {}): Promise<Reply> {
  return send(service.url, `POST /v1/table/${name}/${action}`, sent);
}

function create(name: string, ids: readonly number[], query = '', sent: Sent = {}): Promise<Reply> {
  return ask(name, `create${query}`, { body: streamOf(ids), ...sent });
}

/** Folders of Lance tables, and of what is left of one that was not made. */
async function folders(): Promise<readonly string[]> {
  const found = await Promise.all(
    ['lance', 'tables'].map((name) => readdir(join(service.data, name))),
  );
  return found.flat().filter((name) => name.endsWith('.lance'));
}

async function idsOf(name: string): Promise<readonly number[]> {
  const [namespace = '', table = ''] = name.split('$');
  const rows = await rowsOf((await lance.openTable(table, [namespace])).query());
  return rows.map((row) => Number(row['id'])).toSorted((a, b) => a - b);
}

describe('a table that a LanceDB client creates', () => {
  it('is appended to by a Lance client, and searched by the first one', async () => {
    const { Field, FixedSizeList, Float32, Int64, List, Struct, Utf8 } = arrow;
    const vectors = new FixedSizeList(2, new Field('item', new Float32(), true));
    const nested = new Struct([
      new Field('tags', new List(new Field('item', new Utf8(), true)), true),
    ]);
    const rows = (from: bigint) =>
      tableOf([
        { name: 'id', type: new Int64(), values: [from, 2n ** 53n + from] },
        {
          name: 'v',
          type: vectors,
          values: [
            [Number(from), 0],
            [0, 1],
          ],
        },
        { name: 'more', type: nested, values: [{ tags: ['a', null] }, null] },
      ]);
    await clients.createTable('events', rows(1n), ['lake']);
    const described = await ask('lake$events', 'describe', { body: {} });
    expect(described.json).toMatchObject({ version: 1, managed_versioning: true });
    expect(String(described.json['location'])).toContain(join(service.data, 'lance'));
    await (await lance.openTable('events', ['lake'])).add(rows(9n));
    const table = await clients.openTable('events', ['lake']);
    const found = await rowsOf(table.query().nearestTo([9, 0]).column('v').limit(1));
    expect(found).toMatchObject([{ id: 9n, more: { tags: ['a', null] } }]);
    const all = await rowsOf(table.query().select(['id']));
    expect(all.map(({ id }) => id)).toEqual([1n, 2n ** 53n + 1n, 9n, 2n ** 53n + 9n]);
  });

  it('may have no rows, and has its properties', async () => {
    const headers = { 'x-service-table-properties': '{"owner":"ann"}' };
    const reply = await create('lake$empty', [], '', { headers });
    expect([reply.status, reply.json]).toEqual([200, { version: 1, properties: { owner: 'ann' } }]);
    expect((await ask('lake$empty', 'count_rows', { body: {} })).text).toBe('0');
    expect((await ask('lake$empty', 'insert', { body: streamOf([7]) })).json['version']).toBe(2);
    expect(await idsOf('lake$empty')).toEqual([7]);
  });

  it('is recorded once, and made once when the request is repeated', async () => {
    const headers = { 'x-request-id': randomUUID() };
    const first = await create('lake$once', [1, 2], '', { headers });
    const again = await create('lake$once', [1, 2], '', { headers });
    expect([first.status, again.status, again.json]).toEqual([200, 200, first.json]);
    expect(again.headers['x-arrowgate-replayed']).toBe('true');
    const records = (await service.audit()).filter(
      (each) => each['request_id'] === headers['x-request-id'] && each['decision'] === 'allow',
    );
    expect(records.map((each) => [each['phase'], each['operation']]).slice(0, 2)).toEqual([
      ['attempt', 'CreateTable'],
      ['outcome', 'CreateTable'],
    ]);
    expect(records[1]).toMatchObject({ commit: { kind: 'create', version: 1, rows_added: 2 } });
  });

  it('keeps its name', async () => {
    await create('lake$taken', [1]);
    const before = await folders();
    const refused = await create('lake$taken', [2]);
    expect([refused.status, refused.json['code']]).toEqual([409, 5]);
    const present = await create('lake$taken', [2], '?mode=exist_ok');
    expect(present.status).toBe(200);
    expect(await idsOf('lake$taken')).toEqual([1]);
    expect(await folders()).toEqual(before);
  });

  it('gets a version with other columns when it is overwritten', async () => {
    await create('lake$other', [1]);
    const body = streamOf([5], 'n');
    const headers = { 'x-service-table-properties': '{"a":"b"}' };
    const replaced = await ask('lake$other', 'create?mode=overwrite', { body, headers });
    expect(replaced.json).toEqual({ version: 2, properties: { a: 'b' } });
    const old = await ask('lake$other', 'count_rows', {
      body: { version: 1, predicate: 'id = 1' },
    });
    expect(old.text).toBe('1');
    const described = await ask('lake$other', 'describe', { body: {} });
    expect(described.json).toMatchObject({ version: 2, properties: { a: 'b' } });
  });

  it('takes the name of one that was declared', async () => {
    await ask('lake$declared', 'declare', { body: {} });
    expect((await create('lake$declared', [3], '?mode=overwrite')).json['version']).toBe(1);
    expect(await idsOf('lake$declared')).toEqual([3]);
  });
});

describe('a location', () => {
  const place = (name: string) => join(service.data, 'lance', name);
  const at = (location: string) => ({ headers: { 'x-lance-table-location': location } });

  it('that a client chooses is where the table lies', async () => {
    expect((await create('lake$placed', [1], '', at(place('chosen')))).status).toBe(200);
    const described = await ask('lake$placed', 'describe', { body: {} });
    expect(described.json).toMatchObject({ version: 1, location: place('chosen') });
    expect(await readdir(place('chosen'))).not.toContain('.arrowgate-creation');
    await (await lance.openTable('placed', ['lake'])).add([{ id: 2 }]);
    expect(await idsOf('lake$placed')).toEqual([1, 2]);
    expect(await readdir(join(service.data, 'tables'))).not.toContain(
      expect.stringMatching('.lance'),
    );
  });

  it('is free, empty, and among those that are allowed', async () => {
    await create('lake$there', [1], '', at(place('there')));
    await mkdir(place('full/inside'), { recursive: true });
    for (const [location, why] of [
      ['/nowhere', 'lies outside the folders where tables may be'],
      [place('full'), 'is not an empty folder'],
      [place('there'), 'is not an empty folder'],
      [place('there/within'), 'overlaps the location of another table'],
    ] as const) {
      const refused = await create('lake$elsewhere', [1], '', at(location));
      const error = `the location ${JSON.stringify(location)} ${why}`;
      expect([refused.status, refused.json]).toEqual([
        400,
        expect.objectContaining({ code: 13, error }),
      ]);
    }
    expect((await ask('lake$elsewhere', 'describe', { body: {} })).status).toBe(404);
    expect(await idsOf('lake$there')).toEqual([1]);
  });

  it('is one that commit rules allow', async () => {
    const refused = await create('ruled$there', [1, 2, 3], '', at(place('ruled')));
    expect([refused.status, refused.json['code']]).toEqual([400, 20]);
    expect(await readdir(place('ruled'))).toEqual([]);
    const outside = await create('ruled$bound', [1], '', at(place('elsewhere')));
    expect([outside.status, outside.json['code']]).toEqual([400, 20]);
    expect((await create('ruled$there', [1], '', at(place('ruled')))).status).toBe(200);
  });

  it('gets one table of several that are made there at once', async () => {
    const names = ['a', 'b', 'c', 'd'].map((name) => `lake$same_${name}`);
    const replies = await Promise.all(
      names.map((name) => create(name, [1], '', at(place('same')))),
    );
    const made = names.filter((_, index) => replies[index]?.status === 200);
    expect(made.length).toBe(1);
    expect(replies.filter(({ status }) => status === 400).length).toBe(3);
    expect(await idsOf(made[0]!)).toEqual([1]);
  });
});

describe('the format', () => {
  it('is that of the namespace before that of the configuration', async () => {
    const properties = { 'table.format': 'lance' };
    await send(service.url, 'POST /v1/namespace/plain$in/create', { body: { properties } });
    await create('plain$own', [1]);
    await create('plain$in$lance', [1]);
    const locations = await Promise.all(
      ['plain$own', 'plain$in$lance'].map(async (name) => {
        return (await ask(name, 'describe', { body: {} })).json['location'];
      }),
    );
    expect(locations).toEqual([undefined, expect.stringContaining('.lance')]);
  });

  it('is one that is known', async () => {
    const properties = { 'table.format': 'delta' };
    const reply = await send(service.url, 'POST /v1/namespace/odd/create', {
      body: { properties },
    });
    expect([reply.status, reply.json['error']]).toEqual([
      400,
      'the property table.format is "delta", but must be arrow or lance',
    ]);
  });
});

describe('a commit rule', () => {
  it('refuses a table before it has a name, and nothing is left of it', async () => {
    const before = await folders();
    const refused = await create('ruled$large', [1, 2, 3]);
    expect([refused.status, refused.json['code']]).toEqual([400, 20]);
    expect(String(refused.json['error'])).toContain('small');
    expect((await ask('ruled$large', 'describe', { body: {} })).status).toBe(404);
    expect(await folders()).toEqual(before);
    expect((await create('ruled$large', [1, 2])).status).toBe(200);
  });

  it('refuses that a table is overwritten', async () => {
    expect((await create('ruled$kept', [1])).status).toBe(200);
    const refused = await create('ruled$kept', [2], '?mode=overwrite');
    expect([refused.status, refused.json['code']]).toEqual([400, 20]);
    expect(await idsOf('ruled$kept')).toEqual([1]);
  });
});

describe('a crash', () => {
  const kills = casesOf(3, 30);

  it(`leaves a whole table or none, ${kills} times`, async () => {
    const acknowledged: string[] = [];
    const tried: string[] = [];
    for (let kill = 0; kill < kills; kill++) {
      const isService = kill % 3 === 2;
      const state = { isDone: false };
      const write = async (writer: number): Promise<void> => {
        for (let at = 0; !state.isDone; at++) {
          const name = `lake$c${kill}x${writer}x${at}`;
          tried.push(name);
          const location = join(service.data, 'lance', `c${kill}x${writer}x${at}`);
          const headers = writer === 0 ? { 'x-lance-table-location': location } : {};
          const reply = await create(name, [at, at + 1], '', { headers }).catch(() => undefined);
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
      const reply = await ask(name, 'count_rows', { body: {} });
      if (acknowledged.includes(name) || reply.status !== 404) expect(reply.text).toBe('2');
    }
    await service.end();
    const collected = await service.command('catalog', 'gc', '--older-than', '0s');
    expect([collected.code, collected.err]).toEqual([0, '']);
    expect(await readdir(join(service.data, 'tables'))).not.toContain(
      expect.stringMatching('.lance'),
    );
    const verified = await service.command('catalog', 'verify');
    expect([verified.code, verified.out + verified.err]).toEqual([
      0,
      expect.stringContaining('nothing is wrong'),
    ]);
    await service.restart();
    await connect();
    const managed = join(service.data, 'lance');
    const left: string[] = [];
    for (const name of await readdir(managed)) {
      // A chosen folder stays, and has nothing of a table that was not made.
      const inside = await readdir(join(managed, name));
      if (inside.length > 0 && name !== 'full') left.push(name);
    }
    const tables = await send(service.url, 'GET /v1/table?limit=1000');
    const named = (tables.json['tables'] as readonly string[]).map(async (name) => {
      return (await ask(name, 'describe', { body: {} })).json['location'];
    });
    const locations = (await Promise.all(named)).filter((each) => each !== undefined);
    const retained = await service.command('catalog', 'dropped', '--json');
    const dropped = JSON.parse(retained.out) as readonly { readonly kind: string }[];
    const withFiles = dropped.filter(({ kind }) => kind === 'lance');
    expect(left.length).toBe(locations.length + withFiles.length);
  });
});

describe('without the library', () => {
  it('no Lance table is made', async () => {
    await service.end();
    await service.configure(`${CONFIG}lance: { engine: off }\n`);
    await service.restart();
    const refused = await create('lake$none', [1]);
    expect([refused.status, refused.json['error']]).toEqual([
      406,
      'table /lake/none would be a Lance table, which the Lance library writes: set lance.engine to auto',
    ]);
    expect((await create('plain$some', [1])).status).toBe(200);
  });
});
