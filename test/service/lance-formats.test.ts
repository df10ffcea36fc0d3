import { cp, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Connection } from '@lancedb/lancedb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { arrow, lancedb, tableOf } from '../clients/lancedb.ts';
import { waitUntil } from '../support/eventually.ts';
import { Service } from '../support/service.ts';
import { send, type Reply } from './http.ts';

/** Lance tables with other features than those that the library gives a new table. */

let service: Service;
let folder: string;
let local: Connection;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'lance-formats-')));
  const config = `locations: { allowed: [${JSON.stringify(folder)}] }\n`;
  service = await Service.start({ config });
  local = await lancedb.connect(folder);
  await register('untouched', await made('untouched', {}));
});

afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true });
});

function ask(name: string, action: string, body: Uint8Array | object = {}): Promise<Reply> {
  return send(service.url, `POST /v1/table/${name}/${action}`, { body });
}

function rowsOf(ids: readonly number[]): InstanceType<typeof arrow.Table> {
  return tableOf([
    { name: 'id', type: new arrow.Int32(), values: ids },
    { name: 'word', type: new arrow.Utf8(), values: ids.map((id) => `w${id}`) },
  ]);
}

function streamOf(...ids: readonly number[]): Uint8Array {
  return arrow.tableToIPC(rowsOf(ids), 'stream');
}

/** A table that a Lance client makes with options. @returns Its folder. */
async function made(name: string, storageOptions: Record<string, string>): Promise<string> {
  await local.createTable(name, rowsOf([1, 2, 3]), { storageOptions });
  return join(folder, `${name}.lance`);
}

async function register(name: string, location: string): Promise<void> {
  const { status, text } = await ask(name, 'register', { location });
  expect(status, text).toBe(200);
}

async function queried(name: string, more: object = {}): Promise<readonly object[]> {
  const { status, bytes, text } = await ask(name, 'query', { vector: [], k: -1, ...more });
  expect(status, text.slice(0, 300)).toBe(200);
  const rows = arrow.tableFromIPC(bytes).toArray();
  return rows.map((row) => row.toJSON() as object);
}

async function idsIn(name: string): Promise<readonly number[]> {
  const rows = (await queried(name)) as readonly { readonly id: number }[];
  return rows.map(({ id }) => id).toSorted((one, other) => one - other);
}

/** What most tables go through. */
async function worksWhole(name: string, location: string): Promise<void> {
  expect((await ask(name, 'insert', streamOf(4, 5))).json).toMatchObject({ num_inserted_rows: 2 });
  const update = { predicate: 'id = 2', updates: [['word', "'new'"]] };
  expect((await ask(name, 'update', update)).json).toMatchObject({ rows_updated: 1 });
  expect((await ask(name, 'delete', { predicate: 'id = 1' })).json).toMatchObject({
    num_deleted_rows: 1,
  });
  const merge = 'merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true';
  expect((await ask(name, merge, streamOf(5, 6))).json).toMatchObject({
    num_updated_rows: 1,
    num_inserted_rows: 1,
  });
  const index = { column: 'id', index_type: 'BTREE' };
  expect((await ask(name, 'create_index', index)).status).toBe(200);
  await waitUntil(async () => {
    const { json } = await ask(name, 'index/list');
    return (json['indexes'] as readonly object[]).length === 1;
  });
  expect(await queried(name, { filter: 'id = 2' })).toEqual([{ id: 2, word: 'new' }]);
  expect(await idsIn(name)).toEqual([2, 3, 4, 5, 6]);
  expect(await queried(name, { version: 1 })).toHaveLength(3);
  const compacted = await service.command('catalog', 'compact', `/${name}`);
  expect([compacted.code, compacted.err]).toEqual([0, '']);
  expect(await idsIn(name)).toEqual([2, 3, 4, 5, 6]);
  const table = await (await lancedb.connect(join(location, '..'))).openTable(name);
  expect(await table.countRows()).toBe(5);
}

describe('a table with stable row ids', () => {
  it('is read and changed, and its rows keep their ids', async () => {
    const location = await made('stable', { new_table_enable_stable_row_ids: 'true' });
    await register('stable', location);
    const idOf = async (id: number) => {
      const [row] = await queried('stable', { filter: `id = ${id}`, with_row_id: true });
      return (row as { readonly _rowid: bigint })._rowid;
    };
    const before = await idOf(3);
    await worksWhole('stable', location);
    expect(await idOf(3)).toBe(before);
    expect(await idOf(2)).toBe(1n);
    expect((await service.command('catalog', 'verify')).code).toBe(0);
    const converted = await service.command('catalog', 'convert', '/stable', '--to', 'arrow');
    expect([converted.code, converted.err]).toEqual([0, '']);
    expect(await idsIn('stable')).toEqual([2, 3, 4, 5, 6]);
  });
});

describe('a table with data files', () => {
  it.each(['0.1', '2.0', '2.1', '2.2'])('of the format %s is read and changed', async (format) => {
    const name = `data${format.replace('.', '_')}`;
    const location = await made(name, { new_table_data_storage_version: format });
    await register(name, location);
    await worksWhole(name, location);
  });
});

/** The manifest of a table's first version with other bytes. */
async function withManifest(name: string, change: (bytes: Buffer) => Buffer): Promise<string> {
  const location = join(folder, `${name}.lance`);
  await cp(join(folder, 'untouched.lance'), location, { recursive: true });
  const versions = join(location, '_versions');
  for (const each of await readdir(versions)) {
    if (!each.endsWith('.manifest')) continue;
    await writeFile(join(versions, each), change(await readFile(join(versions, each))));
  }
  return location;
}

/** The same bytes, with a text in the place of another of its length. */
function replaced(bytes: Buffer, from: string, to: string): Buffer {
  const parts = bytes.toString('latin1').split(from);
  expect(parts.length).toBeGreaterThan(1);
  return Buffer.from(parts.join(to), 'latin1');
}

const requests = [
  ['query', { vector: [], k: -1 }],
  ['count_rows', { predicate: 'id > 1' }],
  ['explain_plan', { query: { vector: [], k: 1 } }],
  ['insert', streamOf(9)],
  ['update', { updates: [['word', "'x'"]] }],
  ['delete', { predicate: 'id = 1' }],
] as const;

describe('a table that the library does not know', () => {
  it.each([
    ['a later format of data files', 'later', /lance\P{L}{2}(2\.\d)/u, '9.9', 'int32'],
    ['an unknown type', 'untyped', /(int32)/, 'int99', 'binary'],
  ])('for %s is described, refused by its name, and no other', async (...[, ...row]) => {
    const [name, pattern, other, type] = row;
    const location = await withManifest(name, (bytes) => {
      const [, found = ''] = pattern.exec(bytes.toString('latin1')) ?? [];
      return replaced(bytes, found, other);
    });
    await register(name, location);
    for (const [action, body] of requests) {
      const { status, json, text } = await ask(name, action, body);
      expect(['500 18', '406 0'], text).toContain(`${status} ${String(json['code'])}`);
      expect(json['error']).toMatch(
        new RegExp(`table /${name} has a format|cannot read a file of table /${name}: .*a later`),
      );
    }
    const described = await ask(name, 'describe');
    expect(described.json).toMatchObject({
      version: 1,
      schema: { fields: [{ name: 'id', type: { type } }, { name: 'word' }] },
    });
    expect(await idsIn('untouched')).toEqual([1, 2, 3]);
  });
});
