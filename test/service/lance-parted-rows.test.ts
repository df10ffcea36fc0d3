import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { arrow, lancedb, tableOf } from '../clients/lancedb.ts';
import { waitUntil } from '../support/eventually.ts';
import { childrenOf, signalAll } from '../support/processes.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { send, type Reply } from './http.ts';

/** Inserts and creates of more rows than a process of the Lance library can hold are one version. */

const MEBIBYTE = 2 ** 20;
/** Rows of a mebibyte. */
const ROWS = 256;

const CONFIG = `tables: { format: lance }
lance: { memory: 256MiB }
budget: { memory: 32MiB, time: 20m }
`;

const RULES = `rules:
  - { name: small, tables: [/judged], require: { check: "id < 30000" } }
`;

/** Bytes behind the batches of an Arrow stream. */
const END_BYTES = 8;

let service: Service;

beforeAll(async () => {
  service = await Service.start({ config: CONFIG, commits: RULES });
});

afterAll(() => service.stop());

const item = new arrow.Field('item', new arrow.Float32(), true);
const schema = new arrow.Schema([
  new arrow.Field('id', new arrow.Int32(), true),
  new arrow.Field('v', new arrow.FixedSizeList(1024, item), true),
]);

/** Rows of about 4 KiB, numbered from `first` on, in batches of a mebibyte that are made as they are sent. */
async function* bodyOf(mebibytes: number, first = 0): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < mebibytes; at++) {
    const bytes = arrow.tableToIPC(new arrow.Table([batchFrom(first + at * ROWS)]), 'stream');
    const head = arrow.tableToIPC(new arrow.Table(schema), 'stream').length - END_BYTES;
    yield bytes.subarray(at === 0 ? 0 : head, -END_BYTES);
  }
  yield new Uint8Array([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
}

function batchFrom(first: number) {
  const { Float32, Int32, makeData, RecordBatch, Struct } = arrow;
  const ids = makeData({
    type: new Int32(),
    data: Int32Array.from({ length: ROWS }, (_, at) => first + at),
  });
  const data = Float32Array.from({ length: MEBIBYTE / 4 }, (_, at) => first + at);
  const child = makeData({ type: new Float32(), data });
  const list = makeData({ type: schema.fields[1]!.type, length: ROWS, child });
  const struct = { type: new Struct(schema.fields), length: ROWS, children: [ids, list] };
  return new RecordBatch(schema, makeData(struct));
}

function ask(
  name: string,
  action: string,
  body: Uint8Array | AsyncIterable<Uint8Array> | object = {},
): Promise<Reply> {
  return send(service.url, `POST /v1/table/${name}/${action}`, { body });
}

async function versionOf(name: string): Promise<unknown> {
  return (await ask(name, 'describe')).json['version'];
}

/** The ids of all rows, in the order of the rows. */
async function idsIn(name: string): Promise<Int32Array> {
  const { bytes } = await ask(name, 'query', { vector: [], k: 10 ** 6, columns: ['id'] });
  return arrow.tableFromIPC(bytes).getChild('id')!.toArray() as Int32Array;
}

function numbers(count: number): Int32Array {
  return Int32Array.from({ length: count }, (_, at) => at);
}

async function folderOf(name: string): Promise<string> {
  return String((await ask(name, 'describe')).json['location']);
}

/** The files of a table, but for those of finished transactions. */
async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return files
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length))
    .toSorted();
}

/** Waits until there are two more files than before: the first part is written then. */
async function filesAppear(folder: string, before: readonly string[]): Promise<void> {
  await waitUntil(async () => (await filesIn(folder)).length >= before.length + 2);
}

/** The most memory that a process has held, in bytes. */
async function peakOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

describe('rows of more than a process of the library holds', () => {
  it('are inserted as one version, in their order, in bounded memory', async () => {
    await ask('large', 'create', bodyOf(1));
    const before = await peakOf(service.pid);
    const { status, text } = await ask('large', 'insert', bodyOf(200, ROWS));
    expect([status, text]).toEqual([200, `{"version":2,"num_inserted_rows":${200 * ROWS}}`]);
    expect((await peakOf(service.pid)) - before).toBeLessThan(128 * MEBIBYTE);
    for (const pid of await childrenOf(service.pid)) {
      // One that ends at this moment, since it was replaced, has none.
      expect(await peakOf(pid)).not.toBeGreaterThan(384 * MEBIBYTE);
    }
    expect(service.errors).not.toContain('ended');
    expect(await versionOf('large')).toBe(2);
    expect(await idsIn('large')).toEqual(numbers(201 * ROWS));
    const records = await service.audit();
    const made = records.filter(
      ({ operation, phase }) => operation === 'InsertIntoTable' && phase === 'outcome',
    );
    expect(made).toMatchObject([{ object: '/large', commit: { version: 2, kind: 'append' } }]);
    expect(records.filter(({ operation }) => operation === 'CreateTableVersion')).toEqual([]);
  });

  it('are merged as one version, as far as a process holds them', async () => {
    await ask('merged', 'create', bodyOf(4));
    const before = await peakOf(service.pid);
    const merge = 'merge_insert?on=id&when_not_matched_insert_all=true';
    const { status, json, text } = await ask('merged', merge, bodyOf(40, 2 * ROWS));
    expect([status, json['version'], json['num_inserted_rows']], text).toEqual([200, 2, 38 * ROWS]);
    expect((await peakOf(service.pid)) - before).toBeLessThan(128 * MEBIBYTE);
    for (const pid of await childrenOf(service.pid)) {
      // One that ends at this moment, since it was replaced, has none.
      expect(await peakOf(pid)).not.toBeGreaterThan(512 * MEBIBYTE);
    }
    expect([...(await idsIn('merged'))].toSorted((a, b) => a - b)).toEqual([...numbers(42 * ROWS)]);
    const refused = await ask('merged', merge, bodyOf(60, 200 * ROWS));
    expect([refused.status, refused.json['code']]).toEqual([400, 13]);
    expect(await versionOf('merged')).toBe(2);
  });

  it('can be changed and compacted as others', async () => {
    await ask('changed', 'create', bodyOf(40));
    await ask('changed', 'insert', bodyOf(40, 40 * ROWS));
    await ask('changed', 'insert', bodyOf(1, 80 * ROWS));
    const removed = await ask('changed', 'delete', { predicate: 'id >= 5000 AND id < 15000' });
    expect(removed.json).toMatchObject({ version: 4, num_deleted_rows: 10_000 });
    const compacted = await service.command('catalog', 'compact', '/changed');
    expect(compacted).toMatchObject({ code: 0, err: '' });
    const left = numbers(81 * ROWS).filter((id) => id < 5000 || id >= 15_000);
    expect(await idsIn('changed')).toEqual(left);
    expect(await service.command('catalog', 'verify')).toMatchObject({ code: 0 });
  });

  it('create a table, and take the place of its rows', async () => {
    expect((await ask('whole', 'create', bodyOf(140))).status).toBe(200);
    expect([await versionOf('whole'), await idsIn('whole')]).toEqual([1, numbers(140 * ROWS)]);
    expect((await ask('whole', 'insert?mode=overwrite', bodyOf(135))).status).toBe(200);
    expect([await versionOf('whole'), await idsIn('whole')]).toEqual([2, numbers(135 * ROWS)]);
  });

  it('leave nothing where a rule refuses them', async () => {
    await ask('judged', 'create', bodyOf(1));
    const folder = await folderOf('judged');
    const before = await filesIn(folder);
    const { status, json } = await ask('judged', 'insert', bodyOf(140));
    expect([status, json['code']]).toEqual([400, 20]);
    expect(await filesIn(folder)).toEqual(before);
    expect(await versionOf('judged')).toBe(1);
    expect((await ask('judged', 'insert', bodyOf(1))).json).toMatchObject({ version: 2 });
  });

  it('are refused where the columns change meanwhile', async () => {
    await ask('altered', 'create', bodyOf(1));
    const folder = await folderOf('altered');
    const before = await filesIn(folder);
    const reply = ask('altered', 'insert', bodyOf(200));
    await filesAppear(folder, before);
    const columns = { new_columns: [{ name: 'n', expression: 'id + 1' }] };
    expect((await ask('altered', 'add_columns', columns)).status).toBe(200);
    const after = await filesIn(folder);
    const { status, json } = await reply;
    expect([status, json['code'], json['error']]).toEqual([
      409,
      14,
      'the columns of table /altered were changed while rows were written to it: repeat the request',
    ]);
    const left = (await filesIn(folder)).filter((file) => !before.includes(file));
    expect(left.filter((file) => !after.includes(file))).toEqual([]);
    expect(await idsIn('altered')).toEqual(numbers(ROWS));
  });

  it('are inserted beside those of other writers', async () => {
    await ask('shared', 'create', bodyOf(1));
    const folder = await folderOf('shared');
    const before = await filesIn(folder);
    const reply = ask('shared', 'insert', bodyOf(140));
    await filesAppear(folder, before);
    for (let times = 0; times < 4; times++)
      expect((await ask('shared', 'insert', bodyOf(1))).status).toBe(200);
    expect((await reply).status).toBe(200);
    expect([await versionOf('shared'), (await idsIn('shared')).length]).toEqual([6, 145 * ROWS]);
  });

  it('are written again where processes of the library end', async () => {
    await ask('killed', 'create', bodyOf(1));
    const folder = await folderOf('killed');
    const before = await filesIn(folder);
    const reply = ask('killed', 'insert', bodyOf(140, ROWS));
    await filesAppear(folder, before);
    signalAll(await childrenOf(service.pid), 'SIGKILL');
    expect((await reply).status).toBe(200);
    expect([await versionOf('killed'), await idsIn('killed')]).toEqual([2, numbers(141 * ROWS)]);
  });

  it('are there as a whole or not at all where the gateway is killed', async () => {
    await ask('halved', 'create', bodyOf(1));
    const folder = await folderOf('halved');
    const before = await filesIn(folder);
    const reply = ask('halved', 'insert', bodyOf(140, ROWS)).catch(() => undefined);
    await filesAppear(folder, before);
    await service.end('SIGKILL');
    await reply;
    await service.restart();
    expect([await versionOf('halved'), await idsIn('halved')]).toEqual([1, numbers(ROWS)]);
    expect((await ask('halved', 'insert', bodyOf(2, ROWS))).status).toBe(200);
    expect(await service.command('catalog', 'verify')).toMatchObject({ code: 0 });
  });

  it('go to a table with stable row ids in parts only', async () => {
    const headers = { 'x-api-key': ADMIN_KEY };
    const client = await lancedb.connectNamespace('rest', { uri: service.url, headers });
    const rows = tableOf([
      { name: 'id', type: new arrow.Int32(), values: [1] },
      { name: 'v', type: schema.fields[1]!.type, values: [Array.from({ length: 1024 }, () => 0)] },
    ]);
    const storageOptions = { new_table_enable_stable_row_ids: 'true' };
    await client.createTable('stable', rows, { storageOptions });
    const folder = await folderOf('stable');
    const before = await filesIn(folder);
    const { status, json } = await ask('stable', 'insert', bodyOf(100));
    expect([status, json['code'], json['error']]).toEqual([
      400,
      13,
      'table /stable has stable row ids, and the Lance library takes the rows of one request for it as a whole: send at most an eighth of lance.memory at once',
    ]);
    expect(await filesIn(folder)).toEqual(before);
    expect((await ask('stable', 'insert', bodyOf(20))).status).toBe(200);
  });
});
