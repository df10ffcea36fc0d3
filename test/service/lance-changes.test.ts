import { randomUUID } from 'node:crypto';
import type { Connection, Table } from '@lancedb/lancedb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { arrow, lancedb, rowsOf, tableOf } from '../clients/lancedb.ts';
import { casesOf } from '../support/cases.ts';
import { waitUntil } from '../support/eventually.ts';
import { childrenOf, signalAll } from '../support/processes.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { send, type Reply, type Sent } from './http.ts';

/** Rows of Lance tables that the service changes: one request is one judged and recorded commit. */

const RULES = `rules:
  - { name: growing, tables: [/log], require: { append_only: true } }
`;

const POLICY = `p, role:admin, /**, *, allow
p, role:loader, /**, append, allow
p, role:loader, /**, read, allow
p, role:writer, /**, modify, allow
p, role:writer, /**, append, allow
p, role:writer, /**, read, allow
g, user:admin, role:admin
`;

let service: Service;
let writer: Connection;

beforeAll(async () => {
  service = await Service.start({ commits: RULES, policy: POLICY });
  writer = await connected();
});

afterAll(() => service.stop());

function connected(): Promise<Connection> {
  const headers = { 'x-api-key': ADMIN_KEY };
  return lancedb.connectNamespace('rest', { uri: service.url, headers });
}

function streamOf(ids: readonly number[], name = 'id'): Uint8Array {
  const rows = tableOf([{ name, type: new arrow.Int32(), values: ids }]);
  return arrow.tableToIPC(rows, 'stream');
}

async function made(name: string, ids: readonly number[] = [1, 2, 3]): Promise<Table> {
  return writer.createTable(name, tableOf([{ name: 'id', type: new arrow.Int32(), values: ids }]));
}

function ask(name: string, action: string, sent: Sent = {}): Promise<Reply> {
  return send(service.url, `POST /v1/table/${name}/${action}`, sent);
}

/** The ids of a table, by the Lance client that reads the folder. */
async function idsOf(name: string): Promise<readonly number[]> {
  const rows = await rowsOf((await writer.openTable(name)).query());
  return rows.map((row) => Number(row['id'])).toSorted((a, b) => a - b);
}

function libraries(): Promise<readonly number[]> {
  return childrenOf(Number(service.said['pid']));
}

describe('a change', () => {
  it('is one version, answered with its counts and seen by Lance clients', async () => {
    await made('rows');
    const inserted = await ask('rows', 'insert', { body: streamOf([4, 5]) });
    expect(inserted.json).toEqual({ version: 2, num_inserted_rows: 2 });
    const updated = await ask('rows', 'update', {
      body: { updates: [['id', 'id + 10']], predicate: 'id < 3' },
    });
    expect(updated.json).toEqual({ version: 3, rows_updated: 2, updated_rows: 2 });
    const deleted = await ask('rows', 'delete', { body: { predicate: 'id = 5' } });
    expect(deleted.json).toEqual({ version: 4, num_deleted_rows: 1 });
    const merge =
      'merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true';
    const merged = await ask('rows', merge, { body: streamOf([3, 7]) });
    expect(merged.json).toMatchObject({ version: 5, num_updated_rows: 1, num_inserted_rows: 1 });
    expect(await idsOf('rows')).toEqual([3, 4, 7, 11, 12]);
    const replaced = await ask('rows', 'insert?mode=overwrite', { body: streamOf([9]) });
    expect(replaced.json).toEqual({ version: 6, num_inserted_rows: 1 });
    expect(await idsOf('rows')).toEqual([9]);
    const empty = await ask('rows', 'insert', { body: streamOf([]) });
    expect([empty.status, empty.json['num_inserted_rows']]).toEqual([200, 0]);
  });

  it('is recorded once, with what it did, as the act of its caller', async () => {
    await made('audited');
    const key = await service.key('loader', 'loader');
    const id = randomUUID();
    const headers = { 'x-request-id': id };
    const reply = await ask('audited', 'insert', { body: streamOf([8]), key, headers });
    expect(reply.status).toBe(200);
    const records = (await service.audit()).filter((each) => each['request_id'] === id);
    expect(records.map((each) => [each['phase'], each['operation'], each['subject']])).toEqual([
      ['attempt', 'InsertIntoTable', 'user:loader'],
      ['outcome', 'InsertIntoTable', 'user:loader'],
    ]);
    expect(records[1]).toMatchObject({
      commit: { kind: 'append', base_version: 1, version: 2, rows_added: 1, rows_removed: 0 },
    });
  });

  it('that is sent again is answered again, and made once', async () => {
    await made('repeated');
    const sent = { body: streamOf([4]), headers: { 'x-request-id': randomUUID() } };
    const [first, second] = [
      await ask('repeated', 'insert', sent),
      await ask('repeated', 'insert', sent),
    ];
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(second.json).toEqual(first.json);
    expect(second.headers['x-arrowgate-replayed']).toBe('true');
    expect(await idsOf('repeated')).toEqual([1, 2, 3, 4]);
  });

  it('on a branch leaves main as it is', async () => {
    const table = await made('forked');
    await (await table.branches()).create('dev');
    const reply = await ask('forked', 'insert?branch=dev', { body: streamOf([4]) });
    expect(reply.status).toBe(200);
    expect((await ask('forked', 'count_rows', { body: { branch: 'dev' } })).text).toBe('4');
    expect((await ask('forked', 'count_rows')).text).toBe('3');
  });

  it('with columns that the table lacks is refused, and changes nothing', async () => {
    await made('typed');
    const reply = await ask('typed', 'insert', { body: streamOf([1], 'other') });
    expect([reply.status, reply.json['code']]).toEqual([400, 13]);
    expect(String(reply.json['error'])).toContain("'other'");
    expect((await ask('typed', 'describe')).json['version']).toBe(1);
  });

  it('asks for the right to change the schema when it does', async () => {
    await made('replaced');
    const key = await service.key('writer', 'writer');
    const own = await ask('replaced', 'insert?mode=overwrite', { body: streamOf([5]), key });
    expect(own.status).toBe(200);
    const other = { body: streamOf([5], 'other'), key };
    const refused = await ask('replaced', 'insert?mode=overwrite', other);
    expect(refused.status).toBe(403);
    expect((await ask('replaced', 'describe')).json['version']).toBe(2);
    expect(await idsOf('replaced')).toEqual([5]);
  });
});

describe('a client that leaves during a change', () => {
  it('leaves all of it or nothing', async () => {
    await made(
      'left',
      Array.from({ length: 2000 }, (_, id) => id),
    );
    for (let round = 0; round < 6; round++) {
      const leaving = new AbortController();
      const updates = [['id', 'id + 10000']];
      const sent = { body: { updates }, signal: leaving.signal };
      const gone = ask('left', 'update', sent).catch(() => undefined);
      for (let reads = 0; reads < round; reads++) await ask('left', 'count_rows');
      leaving.abort();
      await gone;
    }
    expect((await ask('left', 'count_rows')).text).toBe('2000');
    const ids = await idsOf('left');
    expect(ids.at(-1)! - ids[0]!).toBe(1999);
    expect((await ask('left', 'insert', { body: streamOf([5]) })).status).toBe(200);
  });
});

describe('a commit rule', () => {
  it('refuses a change at once, and the next one is made', async () => {
    await made('log');
    await ask('log', 'count_rows');
    const before = await libraries();
    const refused = await ask('log', 'delete', { body: { predicate: 'id = 1' } });
    expect([refused.status, refused.json['code']]).toEqual([400, 20]);
    expect(String(refused.json['error'])).toContain('growing');
    expect((await ask('log', 'insert', { body: streamOf([4]) })).json['version']).toBe(2);
    expect(await idsOf('log')).toEqual([1, 2, 3, 4]);
    expect((await ask('log', 'count_rows')).text).toBe('4');
    // The library would repeat a refused commit for minutes.
    expect(await libraries()).toEqual(before);
  });
});

describe('writers at once', () => {
  it('of both kinds all take effect', async () => {
    const table = await made('shared', []);
    const ids = Array.from({ length: 12 }, (_, at) => at);
    const through = ids.map((id) => ask('shared', 'insert', { body: streamOf([id]) }));
    for (const id of [100, 101, 102]) await table.add([{ id }]);
    expect((await Promise.all(through)).map(({ status }) => status)).toEqual(ids.map(() => 200));
    expect(await idsOf('shared')).toEqual([...ids, 100, 101, 102]);
  });

  const kills = casesOf(4, 40);

  it(`lose nothing and write nothing twice when the library is killed ${kills} times`, async () => {
    await made('killed', []);
    const acknowledged: number[] = [];
    const uncertain = new Set<number>();
    const state = { isDone: false };
    const write = async (first: number): Promise<void> => {
      for (let id = first; !state.isDone; id += 4) {
        const reply = await ask('killed', 'insert', { body: streamOf([id]) });
        if (reply.status === 200) acknowledged.push(id);
        else uncertain.add(id);
      }
    };
    const writers = [0, 1, 2, 3].map(write);
    for (let kill = 0; kill < kills; kill++) {
      const goal = acknowledged.length + 3;
      await waitUntil(() => acknowledged.length >= goal);
      signalAll(await libraries(), 'SIGKILL');
    }
    state.isDone = true;
    await Promise.all(writers);
    const ids = await idsOf('killed');
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.filter((id) => !uncertain.has(id))).toEqual(acknowledged.toSorted((a, b) => a - b));
  });

  it('lose nothing when the service is killed', async () => {
    await made('crashed', []);
    const acknowledged: number[] = [];
    for (let kill = 0; kill < casesOf(1, 10); kill++) {
      const write = async (first: number): Promise<void> => {
        for (let id = first; ; id += 4) {
          const sent = { body: streamOf([id]) };
          const reply = await ask('crashed', 'insert', sent).catch(() => undefined);
          if (reply?.status !== 200) return;
          acknowledged.push(id);
        }
      };
      const writers = [0, 1, 2, 3].map((at) => write(1000 * (kill + 1) + at));
      const goal = acknowledged.length + 8;
      await waitUntil(() => acknowledged.length >= goal);
      await service.end('SIGKILL');
      await Promise.all(writers);
      await service.restart();
      writer = await connected();
      const ids = await idsOf('crashed');
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids).toEqual(expect.arrayContaining(acknowledged));
    }
    await service.end();
    const verified = await service.command('catalog', 'verify');
    expect([verified.code, verified.out + verified.err]).toEqual([
      0,
      expect.stringContaining('nothing is wrong'),
    ]);
  });
});
