import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Connection, Table } from '@lancedb/lancedb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { arrow, lancedb, rowsOf, tableOf } from '../clients/lancedb.ts';
import { flagsOf } from '../faults/kill-plan.ts';
import { declare, post, staged } from '../faults/managed-client.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { send, type Reply, type Sent } from './http.ts';

/** Versions and tags of Lance tables: what the service does, Lance clients see in the folder, and the other way round. */

const RULES = `rules:
  - { name: released, tables: [/guarded], require: { protected_tags: [v1] } }
  - { name: growing, tables: [/log], require: { append_only: true } }
`;

/** Kills the service once the store has a new branch, while the library waits for the answer before it writes the file. */
const killed = { step: 'write journal', when: 'before', count: 1, since: 'armed' } as const;
/** Of the next start of the service. */
const nodeFlags: string[] = [...flagsOf(killed, 0)];
let service: Service;
let writer: Connection;

beforeAll(async () => {
  service = await Service.start({ commits: RULES, nodeFlags });
  writer = await connected();
});

afterAll(() => service.stop());

function connected(): Promise<Connection> {
  const headers = { 'x-api-key': ADMIN_KEY };
  return lancedb.connectNamespace('rest', { uri: service.url, headers });
}

/** A table of three versions, each with one row more. */
async function made(name: string, namespace: string[] = []): Promise<Table> {
  const rows = tableOf([{ name: 'id', type: new arrow.Int32(), values: [1] }]);
  const table = await writer.createTable(name, rows, namespace);
  await table.add([{ id: 2 }]);
  await table.add([{ id: 3 }]);
  return table;
}

function ask(name: string, action: string, sent: Sent = {}): Promise<Reply> {
  return send(service.url, `POST /v1/table/${name}/${action}`, sent);
}

function tag(name: string, action: string, body: object): Promise<Reply> {
  return ask(name, `tags/${action}`, { body });
}

async function tagsOf(name: string): Promise<Readonly<Record<string, number>>> {
  const { tags } = (await tag(name, 'list', {})).json as {
    tags: Record<string, { version: number }>;
  };
  return Object.fromEntries(Object.entries(tags).map(([key, { version }]) => [key, version]));
}

/** Tags by the Lance client that reads the folder. */
async function ownTags(name: string): Promise<Readonly<Record<string, number>>> {
  const list = await (await (await writer.openTable(name)).tags()).list();
  return Object.fromEntries(Object.entries(list).map(([key, { version }]) => [key, version]));
}

async function idsOf(name: string): Promise<readonly number[]> {
  const rows = await rowsOf((await writer.openTable(name)).query());
  return rows.map((row) => Number(row['id'])).toSorted((a, b) => a - b);
}

async function folderOf(name: string): Promise<string> {
  return String((await ask(name, 'describe')).json['location']).replace('file://', '');
}

describe('a tag of a Lance table', () => {
  it('made, moved and removed by the service is so for Lance clients', async () => {
    const table = await made('ours');
    expect((await tag('ours', 'create', { tag: 'v-1', version: 2 })).status).toBe(200);
    expect(await ownTags('ours')).toEqual({ 'v-1': 2 });
    await table.checkout('v-1');
    expect(await table.countRows()).toBe(2);
    expect((await tag('ours', 'update', { tag: 'v-1', version: 1 })).status).toBe(200);
    expect(await ownTags('ours')).toEqual({ 'v-1': 1 });
    const file = join(await folderOf('ours'), '_refs', 'tags', 'v-1.json');
    expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({
      branch: null,
      version: 1,
      manifestSize: expect.any(Number),
      createdAt: expect.stringMatching(/Z$/),
    });
    expect((await tag('ours', 'delete', { tag: 'v-1' })).status).toBe(200);
    expect(await ownTags('ours')).toEqual({});
    expect(await readdir(join(file, '..'))).toEqual([]);
  });

  it('made, moved and removed by a Lance client is so for the service', async () => {
    const table = await made('theirs');
    const own = await table.tags();
    await own.create('nightly', 2);
    expect(await tagsOf('theirs')).toEqual({ nightly: 2 });
    expect((await tag('theirs', 'version', { tag: 'nightly' })).json).toEqual({ version: 2 });
    const counted = await ask('theirs', 'count_rows', { body: { tag: 'nightly' } });
    expect([counted.status, counted.text]).toEqual([200, '2']);
    await own.update('nightly', 1);
    expect(await tagsOf('theirs')).toEqual({ nightly: 1 });
    const taken = await tag('theirs', 'create', { tag: 'nightly', version: 3 });
    expect([taken.status, taken.json['code']]).toEqual([409, 9]);
    expect((await tag('theirs', 'update', { tag: 'nightly', version: 3 })).status).toBe(200);
    expect(await ownTags('theirs')).toEqual({ nightly: 3 });
    await own.delete('nightly');
    expect(await tagsOf('theirs')).toEqual({});
    const gone = await tag('theirs', 'delete', { tag: 'nightly' });
    expect([gone.status, gone.json['code']]).toEqual([404, 8]);
    expect((await tag('theirs', 'create', { tag: 'nightly', version: 2 })).status).toBe(200);
    expect(await ownTags('theirs')).toEqual({ nightly: 2 });
    await own.create('other', 1);
    expect((await tag('theirs', 'delete', { tag: 'other' })).status).toBe(200);
    expect(await ownTags('theirs')).toEqual({ nightly: 2 });
  });

  it('that a rule protects is what the catalog recorded, whatever the folder says', async () => {
    const table = await made('guarded');
    expect((await tag('guarded', 'create', { tag: 'v1', version: 2 })).status).toBe(200);
    const refused = await tag('guarded', 'update', { tag: 'v1', version: 3 });
    expect([refused.status, refused.json['code']]).toEqual([400, 20]);
    const own = await table.tags();
    await own.update('v1', 1);
    await own.create('free', 1);
    expect(await tagsOf('guarded')).toEqual({ v1: 2, free: 1 });
    expect((await ask('guarded', 'count_rows', { body: { tag: 'v1' } })).text).toBe('2');
    await own.delete('v1');
    expect(await tagsOf('guarded')).toEqual({ v1: 2, free: 1 });
  });

  it('is recorded as the act of its caller', async () => {
    await made('audited');
    const headers = { 'x-request-id': 'tags-a-table' };
    const sent = { body: { tag: 'a', version: 1 }, headers };
    await ask('audited', 'tags/create', sent);
    expect((await ask('audited', 'tags/create', sent)).status).toBe(200);
    const records = (await service.audit()).filter(
      (each) => each['request_id'] === 'tags-a-table' && each['phase'] === 'outcome',
    );
    expect(records[0]).toMatchObject({ operation: 'CreateTableTag', status: 200 });
  });

  it('names versions of branches', async () => {
    const table = await made('forked');
    const branch = await (await table.branches()).create('team/dev');
    await branch.add([{ id: 9 }]);
    const body = { tag: 'b', version: 4, branch: 'team/dev' };
    expect((await tag('forked', 'create', body)).status).toBe(200);
    const file = join(await folderOf('forked'), '_refs', 'tags', 'b.json');
    expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ branch: 'team/dev' });
    expect((await tag('forked', 'version', { tag: 'b' })).json).toEqual({
      version: 4,
      branch: 'team/dev',
    });
  });

  it('is not written through a link, and damaged files are passed over', async () => {
    await made('linked');
    expect((await tag('linked', 'create', { tag: 'a', version: 1 })).status).toBe(200);
    const folder = join(await folderOf('linked'), '_refs', 'tags');
    await writeFile(join(folder, 'broken.json'), '{');
    await writeFile(join(folder, 'note.txt'), 'x');
    expect(await tagsOf('linked')).toEqual({ a: 1 });
    await rm(folder, { recursive: true });
    expect(await tagsOf('linked')).toEqual({});
  });
});

describe('a branch of a Lance table', () => {
  it('made by the service is one for Lance clients, and for both goes on', async () => {
    const table = await made('branched');
    const body = { name: 'team/dev', from_version: 2 };
    expect((await ask('branched', 'branches/create', { body })).status).toBe(200);
    const again = await ask('branched', 'branches/create', { body });
    expect([again.status, again.json['code']]).toEqual([409, 23]);
    const own = await table.branches();
    expect(Object.keys(await own.list())).toEqual(['team/dev']);
    const dev = await own.checkout('team/dev');
    expect(await dev.countRows()).toBe(2);
    await dev.add([{ id: 9 }]);
    const inner = { name: 'inner', from_branch: 'team/dev' };
    expect((await ask('branched', 'branches/create', { body: inner })).status).toBe(200);
    const stream = tableOf([{ name: 'id', type: new arrow.Int32(), values: [10] }]);
    const added = await ask('branched', 'insert?branch=inner', {
      body: arrow.tableToIPC(stream, 'stream'),
    });
    expect(added.status).toBe(200);
    expect(await (await own.checkout('inner')).countRows()).toBe(4);
    expect(await table.countRows()).toBe(3);
    const { branches } = (await ask('branched', 'branches/list')).json as {
      branches: Record<string, object>;
    };
    expect(branches).toMatchObject({
      inner: { parentBranch: 'team/dev', parentVersion: 3 },
      'team/dev': { parentVersion: 2 },
    });
    const gone = await ask('branched', 'branches/delete', { body: { name: 'inner' } });
    expect(gone.status).toBe(200);
    expect(Object.keys(await own.list())).toEqual(['team/dev']);
    const absent = await ask('branched', 'branches/create', {
      body: { name: 'b', from_version: 99 },
    });
    expect([absent.status, absent.json['code']]).toEqual([404, 11]);
    const invalid = await ask('branched', 'branches/create', { body: { name: 'a b' } });
    expect([invalid.status, invalid.json['code']]).toEqual([400, 13]);
  });

  it('whose gateway died before the file of the branch was there gets it from the next reader', async () => {
    await made('begun');
    await send(service.url, 'GET /healthz?armed', { key: null });
    const ended = service.ended();
    const cut = ask('begun', 'branches/create', { body: { name: 'dev', from_version: 2 } });
    await expect(cut).rejects.toThrow();
    await ended;
    nodeFlags.length = 0;
    await service.restart();
    writer = await connected();
    const notes = join(await folderOf('begun'), '_refs', 'branches');
    expect(await readdir(notes).catch(() => [])).not.toContain('dev.json');
    expect((await ask('begun', 'count_rows', { body: { branch: 'dev' } })).text).toBe('2');
    expect(await readdir(notes)).toContain('dev.json');
    const own = await (await writer.openTable('begun')).branches();
    expect(await (await own.checkout('dev')).countRows()).toBe(2);
  });
});

describe('an older version of a Lance table', () => {
  it('is restored as a commit of its own', async () => {
    await made('restored');
    const reply = await ask('restored', 'restore', { body: { version: 1 } });
    expect([reply.status, reply.json['version']]).toEqual([200, 4]);
    expect(await idsOf('restored')).toEqual([1]);
    expect((await ask('restored', 'count_rows')).text).toBe('1');
    const absent = await ask('restored', 'restore', { body: { version: 99 } });
    expect([absent.status, absent.json['code']]).toEqual([404, 11]);
    const records = (await service.audit()).filter(
      (each) => each['operation'] === 'RestoreTable' && each['phase'] === 'outcome',
    );
    expect(records[0]).toMatchObject({ commit: { kind: 'restore', version: 4, rows_removed: 2 } });
  });

  it('is not restored against a rule', async () => {
    await made('log');
    const refused = await ask('log', 'restore', { body: { version: 1 } });
    expect([refused.status, refused.json['code']]).toEqual([400, 20]);
    expect((await ask('log', 'describe')).json['version']).toBe(3);
  });
});

describe('a compaction of Lance tables', () => {
  it('merges fragments by recorded versions, and changes no row, version or tag', async () => {
    const table = await made('small');
    await table.delete('id = 1');
    await table.createIndex('id', { config: lancedb.Index.btree() });
    const dev = await (await table.branches()).create('dev');
    await dev.add([{ id: 7 }]);
    await table.add([{ id: 4 }]);
    await tag('small', 'create', { tag: 'before', version: 2 });
    const before = await ask('small', 'stats');
    expect(before.json['fragment_stats']).toMatchObject({ num_fragments: 3 });
    const done = await service.command('catalog', 'compact', '/small', '--json');
    expect([done.code, done.err]).toEqual([0, '']);
    expect(JSON.parse(done.out)).toEqual([{ table: '/small', merged: 4, made: 2 }]);
    // The library first merges fragments that the same indices cover.
    expect((await service.command('catalog', 'compact')).code).toBe(0);
    const after = await ask('small', 'stats');
    expect(after.json).toMatchObject({ num_rows: 3, fragment_stats: { num_fragments: 1 } });
    expect(await idsOf('small')).toEqual([2, 3, 4]);
    const [index] = await (await writer.openTable('small')).listIndices();
    expect(index).toMatchObject({ numIndexedRows: 3, numUnindexedRows: 0 });
    expect((await ask('small', 'count_rows', { body: { branch: 'dev' } })).text).toBe('3');
    expect((await ask('small', 'count_rows', { body: { tag: 'before' } })).text).toBe('2');
    const again = await service.command('catalog', 'compact', '/small');
    expect([again.code, again.out]).toEqual([0, 'nothing to merge\n']);
  });

  it('removes no version whose manifest says no time', async () => {
    await declare(service.url, 'timeless');
    for (const version of [1, 2, 3]) {
      const entry = (await staged(service.url, 'timeless', { version, group: 0 }))!;
      await post(service.url, 'timeless/version/create', entry);
    }
    const folder = join(await folderOf('timeless'), '_versions');
    const before = await readdir(folder);
    const done = await service.command('catalog', 'compact', '/timeless');
    expect([done.code, done.err]).toEqual([0, '']);
    expect(await readdir(folder)).toEqual(before);
  });
});

describe('a collection', () => {
  it('removes files of Lance tables that no version of main, of a branch or of a tag needs', async () => {
    const properties = { 'versions.keep_for': '0s', 'versions.keep_last': '1' };
    await send(service.url, 'POST /v1/namespace/short/create', { body: { properties } });
    const table = await made('collected', ['short']);
    const name = 'short$collected';
    const dev = await (await table.branches()).create('dev');
    await dev.add([{ id: 7 }]);
    await tag(name, 'create', { tag: 'first', version: 1 });
    await ask(name, 'update', { body: { updates: [['id', 'id + 10']] } });
    await table.createIndex('id', { config: lancedb.Index.btree() });
    await table.createIndex('id', { config: lancedb.Index.btree() });
    const folder = await folderOf(name);
    const lost = join(folder, 'data', 'a-lost-file.lance');
    await writeFile(lost, 'x');
    await writeFile(join(folder, 'data', 'note.txt'), 'x');
    const before = await filesIn(folder);
    await service.end();
    const collect = async () => {
      const gc = ['catalog', 'gc', '--policies', service.policies, '--older-than', '0s', '--json'];
      return JSON.parse((await service.command(...gc)).out);
    };
    const expired = await collect();
    expect(expired).toMatchObject({ failures: [] });
    expect(expired.versions).toBeGreaterThan(3);
    expect(await filesIn(folder)).toContain('data/a-lost-file.lance');
    expect(await collect()).toMatchObject({ versions: 0, failures: [] });
    const after = await filesIn(folder);
    const gone = before.filter((file) => !after.includes(file));
    expect(gone).toContain('data/a-lost-file.lance');
    expect(gone.filter((file) => file.startsWith('_indices/'))).not.toEqual([]);
    expect(after).toContain('data/note.txt');
    const verified = await service.command('catalog', 'verify');
    expect([verified.code, verified.out]).toEqual([0, expect.stringContaining('nothing is wrong')]);
    await service.restart();
    writer = await connected();
    for (const [asked, rows] of [
      [{ tag: 'first' }, '1'],
      [{ branch: 'dev' }, '4'],
      [{ predicate: 'id > 10 AND id <= 13' }, '3'],
    ] as const) {
      expect((await ask(name, 'count_rows', { body: asked })).text).toBe(rows);
    }
  });
});

/** Paths of all files below a folder. */
async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}
