import { readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Int64, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { DamagedFile } from '../../../src/arrow/sealed/file-seal.ts';
import type { JsonValue } from '../../../src/protocol/json.ts';
import { collect } from '../../support/dropped.ts';
import { EngineTable, streamOf, type Columns } from '../../support/engine-table.ts';
import { ask } from '../../support/request.ts';
import { vectorsOf } from '../../support/vector-column.ts';
import { waitUntil } from '../../support/eventually.ts';

const SIZE = 20;
const WAIT = 20;

let table: EngineTable;
const faults: Error[] = [];
const damages: DamagedFile[] = [];

beforeEach(async () => {
  faults.length = 0;
  damages.length = 0;
  table = await EngineTable.open({ onDamage: (damage) => damages.push(damage) });
  table.engine.startWork((error) => faults.push(error as Error));
});

afterEach(() => table.close());

/** Rows on a line: each is nearest to the one before and the one behind. */
function line(first: number, count: number): Columns {
  const ids = Array.from({ length: count }, (_, at) => first + at);
  return {
    id: vectorFromArray(ids.map(BigInt), new Int64()),
    v: vectorsOf(
      SIZE,
      ids.map((id) =>
        Array.from({ length: SIZE }, (_, at) => (at % 3 === 0 ? id : Math.sin(id * at))),
      ),
    ),
  };
}

const place = (id: number) => [...(line(id, 1)['v']!.get(0) as Iterable<number>)];

async function create(more: object = {}): Promise<JsonValue> {
  const body = { column: 'v', index_type: 'IVF_HNSW_SQ', ...more };
  const { transaction_id: id } = (await table.post('create_index', body)) as {
    transaction_id: string;
  };
  for (;;) {
    const described = `POST /v1/transaction/${id}/describe`;
    const { json } = await ask(table.engine.backend, described, { body: {} });
    const { status } = json as { status: string };
    if (status === 'SUCCEEDED' || status === 'FAILED') return json;
    await sleep(WAIT);
  }
}

async function near(id: number, more: object = {}): Promise<readonly number[]> {
  const body = { vector: place(id), k: 3, ...more };
  return (await table.column('id', body)).map(Number);
}

const byNumber = (one: number, other: number) => one - other;
const rowsNear = (id: number) => [id, id - 1, id + 1].toSorted(byNumber);

async function stats(): Promise<{ num_indexed_rows: number; num_unindexed_rows: number }> {
  return (await table.post('index/v_idx/stats')) as never;
}

async function untilCovered(): Promise<void> {
  await waitUntil(async () => (await stats()).num_unindexed_rows === 0);
}

async function indexFiles(): Promise<readonly string[]> {
  const root = join(table.engine.data, 'tables');
  const all = await readdir(root, { recursive: true });
  return all.filter((name) => /\/indices\/.*\.arrow$/.test(name)).map((name) => join(root, name));
}

const plan = async (more: object = {}) =>
  JSON.stringify(await table.post('analyze_plan', { query: { vector: place(5), k: 3, ...more } }));

it('says what was built for what was asked', async () => {
  await table.create(line(0, 300));
  expect(await create({ metric_type: 'cosine', m: 20, ef_construction: 300 })).toMatchObject({
    status: 'SUCCEEDED',
    properties: { 'job.index_type': 'IVF_RQ' },
  });
  expect(await stats()).toEqual({
    num_indexed_rows: 300,
    num_unindexed_rows: 0,
    index_type: 'IVF_RQ',
    distance_type: 'cosine',
    num_indices: 1,
  });
  const { indexes } = (await table.post('index/list')) as { indexes: { index_details: string }[] };
  expect(JSON.parse(indexes[0]!.index_details)).toEqual({
    type: 'IVF_RQ',
    asked: 'IVF_HNSW_SQ',
    distance_type: 'cosine',
    dimension: SIZE,
    codes: 'rotated, 1 bit and 8 bits a number',
    partitions: 'one for each file of rows',
  });
});

it('covers what comes later, which is scanned until then', async () => {
  await table.create(line(0, 300));
  await create();
  await table.send('insert', { body: streamOf(line(300, 200)) });
  expect((await near(400)).toSorted(byNumber)).toEqual(rowsNear(400));
  await untilCovered();
  expect((await near(400)).toSorted(byNumber)).toEqual(rowsNear(400));
  expect(await plan()).toMatch(/Index v_idx: v by l2, covers 2 of 2 files, 500 rows \[500 rows in/);
  expect(await near(400, { version: 2 })).toEqual([299, 298, 297]);
  expect(await plan({ version: 1 })).not.toContain('Index');
});

it('leaves out rows that it does not cover in a fast search', async () => {
  await table.create(line(0, 300));
  await create();
  await table.send('insert', { body: streamOf(line(300, 200)) });
  const found = await near(400, { fast_search: true });
  const { num_unindexed_rows: left } = await stats();
  if (left > 0) expect(found).toEqual([299, 298, 297]);
  expect((await near(400)).toSorted(byNumber)).toEqual(rowsNear(400));
});

it('is made of an empty table, and covers its rows when they come', async () => {
  await table.create(line(0, 0));
  expect(await create()).toMatchObject({ status: 'SUCCEEDED' });
  expect(await near(3)).toEqual([]);
  await table.send('insert', { body: streamOf(line(0, 50)) });
  await untilCovered();
  expect((await near(20)).toSorted(byNumber)).toEqual(rowsNear(20));
  expect(await plan()).toContain('covers 1 of 1 files, 50 rows');
});

it('stays right through deletes, updates, compaction, restore and renaming', async () => {
  await table.create(line(0, 200), line(200, 200));
  await create();
  await table.post('delete', { predicate: 'id % 2 = 1' });
  expect((await near(100)).toSorted(byNumber)).toEqual([98, 100, 102]);
  await table.post('update', { predicate: 'id = 100', updates: [['id', '1000']] });
  expect((await near(100)).toSorted(byNumber)).toEqual([98, 102, 1000]);
  for (let one = 0; one < 6; one++) {
    await table.send('insert', { body: streamOf(line(2000 + 10 * one, 10)) });
  }
  await untilCovered();
  expect((await near(2030)).toSorted(byNumber)).toEqual(rowsNear(2030));
  await table.post('alter_columns', { alterations: [{ path: 'v', rename: 'w' }] });
  expect((await near(2030)).toSorted(byNumber)).toEqual(rowsNear(2030));
  expect(await plan()).toContain('Index v_idx: w by l2');
  await table.post('restore', { version: 3 });
  expect((await near(101)).toSorted(byNumber)).toEqual(rowsNear(101));
  await table.post('drop_columns', { columns: ['v'] });
  expect(await table.post('index/list')).toMatchObject({ indexes: [] });
});

it('leaves no file behind that no version names', async () => {
  await table.create(line(0, 50));
  await create();
  expect(await indexFiles()).toHaveLength(1);
  await collect(table.engine);
  expect(await indexFiles()).toHaveLength(1);
  await table.post('index/v_idx/prewarm');
  await table.post('index/v_idx/drop');
  expect((await near(20)).toSorted(byNumber)).toEqual(rowsNear(20));
  await table.post('version/delete', { ranges: [{ start_version: 1, end_version: 3 }] });
  await collect(table.engine);
  expect(await indexFiles()).toEqual([]);
});

it.each([
  ['a byte of the codes is another', (bytes: Buffer) => bytes.fill(bytes[900]! ^ 255, 900, 901)],
  [
    'the directory is another',
    (bytes: Buffer) => bytes.fill(7, bytes.indexOf('"shape"'), bytes.indexOf('"shape"') + 3),
  ],
  ['nothing is left of it', (bytes: Buffer) => bytes.fill(0)],
])('is not used, and that is said, when %s', async (_, damage) => {
  await table.create(line(0, 300));
  await create();
  const [path] = await indexFiles();
  const bytes = await readFile(path!);
  damage(bytes);
  await writeFile(path!, bytes);
  expect((await near(100)).toSorted(byNumber)).toEqual(rowsNear(100));
  expect((await near(101)).toSorted(byNumber)).toEqual(rowsNear(101));
  expect(faults).toEqual([]);
  expect(new Set(damages.map((damage) => damage.path))).toEqual(new Set([path]));
  const { findings } = await table.engine.upkeep!.verifier.verify({});
  expect(JSON.stringify(findings)).toMatch(/indices.*\.arrow.*cannot be (used|read)/);
});

it('is not used when its file is cut short or gone', async () => {
  await table.create(line(0, 300));
  await create();
  const [path] = await indexFiles();
  await truncate(path!, 500);
  expect((await near(100)).toSorted(byNumber)).toEqual(rowsNear(100));
  expect(damages).toHaveLength(1);
});

it('finds among vectors that are alike, without distance, endless or in heaps', async () => {
  const ids = Array.from({ length: 600 }, (_, at) => at);
  const rows = (endless: boolean): Columns => ({
    id: vectorFromArray(ids.map(BigInt), new Int64()),
    v: vectorsOf(
      SIZE,
      ids.map((id) => {
        if (id < 100) return Array.from({ length: SIZE }, () => 1);
        if (id < 110) return null;
        if (id < 120) return Array.from({ length: SIZE }, () => NaN);
        if (id < 130) return Array.from({ length: SIZE }, () => (endless ? Infinity : 0));
        // Heaps that are far from each other, and each small.
        return Array.from({ length: SIZE }, (_, at) => (id % 7) * 1000 * (at % 2) + id * 1e-3);
      }),
    ),
  });
  for (const endless of [false, true]) {
    await table.send('create?mode=overwrite', { body: streamOf(rows(endless)) });
    for (const metric of ['l2', 'cosine', 'dot']) {
      await create({ name: metric, distance_type: metric });
      for (const query of [
        place(0),
        place(3),
        Array.from({ length: SIZE }, (_, at) => (at % 2) * 2000),
        // Of this one products with endless vectors are endless, too, and so the nearest.
        Array.from({ length: SIZE }, () => 1),
      ]) {
        const body = { vector: query, k: 20, columns: ['_distance'], distance_type: metric };
        const exact = await table.column('_distance', { ...body, bypass_vector_index: true });
        expect(await table.column('_distance', { ...body, maximum_nprobes: 0 })).toEqual(exact);
      }
    }
  }
});

it('is made on a thread where there is much, and given up when its job is cancelled', async () => {
  const other = await EngineTable.open({ workers: 1, arrowBody: 2 ** 25 });
  const [size, count] = [100, 12_000];
  const value = (row: number, at: number) => Math.sin(row * (at + 1));
  const rows = Array.from({ length: count }, (_, row) =>
    Array.from({ length: size }, (__, at) => value(row, at)),
  );
  try {
    other.engine.startWork((error) => faults.push(error as Error));
    await other.create({
      id: vectorFromArray(
        rows.map((_, row) => BigInt(row)),
        new Int64(),
      ),
      v: vectorsOf(size, rows),
    });
    const own = table;
    table = other;
    try {
      expect(await create({ name: 'v_idx' })).toMatchObject({ status: 'SUCCEEDED' });
      const search = { vector: rows[77], k: 5, columns: ['id', '_distance'] };
      const exact = await other.rows({ ...search, bypass_vector_index: true });
      expect(await other.rows({ ...search, maximum_nprobes: 0 })).toEqual(exact);
      const { transaction_id: id } = (await other.post('create_index', {
        column: 'v',
        index_type: 'IVF_SQ',
        name: 'never',
      })) as { transaction_id: string };
      await ask(other.engine.backend, 'POST /v1/jobs/cancel', { body: { job_id: id } });
      const left = async () => (await indexFiles()).length;
      await waitUntil(async () => (await left()) <= 1);
      expect(await other.post('index/list')).toMatchObject({ indexes: [{ index_name: 'v_idx' }] });
    } finally {
      table = own;
    }
  } finally {
    await other.close();
  }
  expect(faults).toEqual([]);
});
