import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Int64, LargeUtf8, Utf8, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openFile } from '../../../src/arrow/ipc/file-reader.ts';
import { bytesAccess } from '../../../src/engine/format/memory/random-access.ts';
import type { JsonValue } from '../../../src/protocol/json.ts';
import { collect } from '../../support/dropped.ts';
import { EngineTable, refusalOf, streamOf, type Columns } from '../../support/engine-table.ts';
import { ask } from '../../support/request.ts';
import { eventually } from '../../support/eventually.ts';

let table: EngineTable;
const faults: unknown[] = [];

beforeEach(async () => {
  table = await EngineTable.open();
  table.engine.startWork((error) => faults.push(error));
  await table.create(rowsOf([1, 2, 3]));
});

afterEach(async () => {
  await table.close();
  expect(faults).toEqual([]);
});

const rowsOf = (numbers: readonly number[]): Columns => ({
  n: vectorFromArray(numbers.map(BigInt), new Int64()),
  name: vectorFromArray(numbers.map(String), new Utf8()),
});

async function ended(answer: JsonValue): Promise<JsonValue> {
  const { transaction_id: id } = answer as { transaction_id: string };
  for (;;) {
    const line = `POST /v1/transaction/${id}/describe`;
    const { json } = await ask(table.engine.backend, line, { body: {} });
    const { status } = json as { status: string };
    if (status === 'SUCCEEDED' || status === 'FAILED') return json;
    await sleep(5);
  }
}

const create = async (body: object): Promise<JsonValue> =>
  ended(await table.post('create_index', body));

const index = { column: 'n', index_type: 'BTREE' };

async function listed(body: object = {}): Promise<unknown> {
  const { indexes } = (await table.post('index/list', body)) as unknown as {
    indexes: { index_name: string; columns: string[]; num_unindexed_rows: number }[];
  };
  return indexes.map((one) => [one.index_name, one.columns, one.num_unindexed_rows]);
}

async function indexFiles(): Promise<readonly string[]> {
  const all = await readdir(join(table.engine.data, 'tables'), { recursive: true });
  return all.filter((name) => /\/indices\/.*\.arrow$/.test(name));
}

it('is described as a transaction, and is one more version of the table', async () => {
  expect(await create(index)).toMatchObject({
    status: 'SUCCEEDED',
    properties: {
      'job.type': 'index',
      'job.index': 'n_idx',
      'job.index_type': 'BTREE',
      'job.version': '2',
    },
  });
  expect(await listed()).toEqual([['n_idx', ['n'], 0]]);
  expect(await listed({ version: 1 })).toEqual([]);
  expect(await table.post('index/n_idx/stats')).toEqual({
    num_indexed_rows: 3,
    num_unindexed_rows: 0,
    index_type: 'BTREE',
    distance_type: null,
    num_indices: 1,
  });
});

it('refuses a name that is taken, and keeps the index', async () => {
  await create(index);
  const again = table.send('create_index', { body: { ...index, index_type: 'BITMAP' } });
  expect(await refusalOf(again)).toBe('7 the table already has an index "n_idx"');
  const other = await create({ ...index, name: 'other', index_type: 'BITMAP' });
  expect(other).toMatchObject({ status: 'SUCCEEDED' });
  expect(await listed()).toEqual([
    ['n_idx', ['n'], 0],
    ['other', ['n'], 0],
  ]);
});

it('follows its column by name and goes with it', async () => {
  await create(index);
  await table.post('alter_columns', { alterations: [{ path: 'n', rename: 'm' }] });
  expect(await listed()).toEqual([['n_idx', ['m'], 0]]);
  expect(await table.column('name', { filter: 'm = 2' })).toEqual(['2']);
  await table.post('drop_columns', { columns: ['m'] });
  expect(await listed()).toEqual([]);
  await table.post('restore', { version: 2 });
  expect(await listed()).toEqual([['n_idx', ['n'], 0]]);
  expect(await table.column('name', { filter: 'n = 3' })).toEqual(['3']);
});

it('keeps an index of a table that is overwritten, over the new rows', async () => {
  await create(index);
  await table.send('insert?mode=overwrite', { body: streamOf(rowsOf([7, 8])) });
  await eventually(async () => expect(await listed()).toEqual([['n_idx', ['n'], 0]]));
  expect(await table.column('name', { filter: 'n = 8' })).toEqual(['8']);
});

it('has pages of few keys where keys are long, so that one is found without reading much', async () => {
  const text = (row: number) => `${row} `.repeat(4000);
  const rows = Array.from({ length: 80 }, (_, row) => row % 40);
  const long = { text: vectorFromArray(rows.map(text), new Utf8()) };
  await table.send('create?mode=overwrite', { body: streamOf(long) });
  for (const index_type of ['BTREE', 'BITMAP']) {
    await create({ column: 'text', index_type, name: index_type });
    const path = (await indexFiles()).toSorted().at(-1)!;
    const bytes = await readFile(join(table.engine.data, 'tables', path));
    expect((await openFile(bytesAccess(bytes))).batchRows.length).toBeGreaterThan(2);
    const found = await table.rows({ columns: ['_rowoffset'], filter: `text = '${text(7)}'` });
    expect(found.map((row) => Number(row['_rowoffset']))).toEqual([7, 47]);
    expect(await table.post('count_rows', { predicate: "text like '39 39%'" })).toBe(2);
    await table.post(`index/${index_type}/drop`);
  }
});

it('says where long keys are by their beginnings, also where many begin alike', async () => {
  const text = (row: number) =>
    `${row < 20 ? 'ä'.repeat(40) : 'z'}${row % 20}${' '.repeat(20_000)}`;
  const rows = Array.from({ length: 40 }, (_, row) => row);
  for (const type of [new Utf8(), new LargeUtf8()]) {
    const long = { text: vectorFromArray([...rows.map(text), null, 'z'], type) };
    await table.send('create?mode=overwrite', { body: streamOf(long) });
    const before = new Set(await indexFiles());
    await create({ column: 'text', index_type: 'BTREE', name: String(type) });
    const [path] = (await indexFiles()).filter((name) => !before.has(name));
    const file = await openFile(
      bytesAccess(await readFile(join(table.engine.data, 'tables', path!))),
    );
    const last = file.batchRows.length - 1;
    expect(last).toBeGreaterThan(2);
    const bytes = file.columnBytes(last, 0);
    expect(bytes).toBeLessThan(80 * (last + 1));
    const found = async (filter: string) =>
      (await table.rows({ columns: ['_rowoffset'], filter })).map((row) =>
        Number(row['_rowoffset']),
      );
    for (const row of [0, 7, 19, 20, 39])
      expect(await found(`text = '${text(row)}'`)).toEqual([row]);
    expect(await found("text = 'z'")).toEqual([41]);
    expect(await found(`text = '${'ä'.repeat(40)}'`)).toEqual([]);
    expect(await found(`text < '${'ä'.repeat(39)}'`)).toEqual([...rows.slice(20), 41]);
    expect(await found(`text > '${text(7)}' and text < 'z'`)).toEqual([]);
    expect(await found('text is null')).toEqual([40]);
  }
});

it('leaves no file behind that no version names', async () => {
  await create(index);
  const kept = await indexFiles();
  expect(kept).toHaveLength(1);
  const [id] = kept[0]!.split('/');
  const crashed = '11111111-2222-3333-4444-555555555555';
  const folder = join(table.engine.data, 'tables', id!, 'indices', crashed);
  await mkdir(folder);
  await writeFile(join(folder, `${crashed}.arrow`), 'cut sho');
  expect(await indexFiles()).toHaveLength(2);
  await sleep(5);
  expect(await collect(table.engine)).toMatchObject({ files: 1, failures: [] });
  expect(await indexFiles()).toEqual(kept);
  await table.post('index/n_idx/drop');
  expect(await listed()).toEqual([]);
  expect(await indexFiles()).toEqual(kept);
  await table.post('version/delete', { ranges: [{ start_version: 1, end_version: 3 }] });
  await collect(table.engine);
  expect(await indexFiles()).toEqual([]);
});
