import { readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  Field,
  FixedSizeList,
  Float32,
  Int64,
  List,
  Utf8,
  vectorFromArray,
  type DataType,
} from 'apache-arrow';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { JsonValue } from '../../src/protocol/json.ts';
import { EngineTable, streamOf, type Columns } from '../support/engine-table.ts';
import { FlushedPaths } from '../support/flushed-paths.ts';
import { ManagedTable } from '../support/managed-table.ts';
import { ask } from '../support/request.ts';

/* What is acknowledged is on stable storage: every file that came, and the names of those in their folders. */

let flushed: FlushedPaths;
let table: EngineTable;
let known = new Set<string>();

beforeEach(async () => {
  flushed = new FlushedPaths();
  table = await EngineTable.open();
  table.engine.startWork(() => undefined);
  known = new Set();
});

afterEach(async () => {
  vi.restoreAllMocks();
  await table.close();
});

const vectors = new FixedSizeList(2, new Field('item', new Float32(), true));

function rowsOf(first: number): Columns {
  const numbers = [first, first + 1, first + 2];
  const column = (values: readonly unknown[], type: DataType) => vectorFromArray(values, type);
  return {
    n: vectorFromArray(numbers.map(BigInt), new Int64()),
    name: column(numbers.map(String), new Utf8()),
    tags: column(
      numbers.map((number) => [`t${number}`]),
      new List(new Field('item', new Utf8(), true)),
    ),
    place: column(
      numbers.map((number) => [number, 0]),
      vectors,
    ),
  };
}

/** A manifest is flushed under the name by which it is staged, in the same folder. */
function isFlushed(path: string): boolean {
  return flushed.has(path) || (/\/versions\/[^/]+$/.test(path) && flushed.hasIn(dirname(path)));
}

/** The new files, and the folders of new names, that are not on stable storage. */
function missing(): readonly string[] {
  const root = join(table.engine.data, 'tables');
  const entries = readdirSync(root, { recursive: true, withFileTypes: true });
  const all = entries.map((entry) => ({
    path: join(entry.parentPath, entry.name),
    isFile: entry.isFile(),
  }));
  const fresh = all.filter(({ path }) => !known.has(path));
  known = new Set(all.map(({ path }) => path));
  const files = fresh.filter(({ path, isFile }) => isFile && !isFlushed(path));
  const folders = new Set(fresh.map(({ path }) => dirname(path)));
  return [
    ...files.map(({ path }) => path.slice(root.length)),
    ...[...folders].filter((folder) => !flushed.has(folder)).map((path) => path.slice(root.length)),
  ];
}

/** What is not on stable storage of what came with some work. */
async function missingAfter(work: () => Promise<unknown>): Promise<readonly string[]> {
  flushed.forget();
  const before = known.size;
  await work();
  const found = missing();
  expect(known.size).toBeGreaterThan(before);
  return found;
}

async function ended(answer: JsonValue): Promise<void> {
  const { transaction_id: id } = answer as { transaction_id: string };
  for (;;) {
    const line = `POST /v1/transaction/${id}/describe`;
    const { json } = await ask(table.engine.backend, line, { body: {} });
    const { status } = json as { status: string };
    if (status === 'SUCCEEDED') return;
    if (status === 'FAILED') throw new Error(JSON.stringify(json));
    await sleep(5);
  }
}

it('after each change of rows or columns', async () => {
  const insert = (body: Columns) => table.send('insert', { body: streamOf(body) });
  expect(await missingAfter(() => table.create(rowsOf(0)))).toEqual([]);
  expect(await missingAfter(() => insert(rowsOf(3)))).toEqual([]);
  expect(await missingAfter(() => table.post('delete', { predicate: 'n = 1' }))).toEqual([]);
  const update = { predicate: 'n = 2', updates: [['name', "'two'"]] };
  expect(await missingAfter(() => table.post('update', update))).toEqual([]);
  const merge = 'merge_insert?on=n&when_matched_update_all=true&when_not_matched_insert_all=true';
  expect(await missingAfter(() => table.send(merge, { body: streamOf(rowsOf(5)) }))).toEqual([]);
  const columns = { new_columns: [{ name: 'twice', expression: 'n * 2' }] };
  expect(await missingAfter(() => table.post('add_columns', columns))).toEqual([]);
  const append = { body: streamOf({ ...rowsOf(9), twice: rowsOf(9)['n']! }) };
  const onBranch = async () => {
    await table.post('branches/create', { name: 'b' });
    await table.send('insert?branch=b', append);
  };
  expect(await missingAfter(onBranch)).toEqual([]);
});

it.each([
  ['BTREE', 'n'],
  ['BITMAP', 'name'],
  ['LABEL_LIST', 'tags'],
  ['FTS', 'name'],
  ['IVF_PQ', 'place'],
])('after an index of type %s was built', async (type, column) => {
  await table.create(rowsOf(0));
  missing();
  const create = async () => ended(await table.post('create_index', { index_type: type, column }));
  expect(await missingAfter(create)).toEqual([]);
});

/** Each folder on the way from a table's folder to a file, and the file itself, as they were flushed. */
function flushedOnTheWay(location: string, key: string): readonly string[] {
  const missed: string[] = [];
  for (let path = `/${key}`; path.length >= location.length; path = dirname(path)) {
    if (!flushed.has(path)) missed.push(path.slice(location.length));
  }
  return missed;
}

it('after each version of a Lance client, whose folders nobody else has flushed', async () => {
  const managed = await ManagedTable.open(table.engine);
  const { location } = managed;
  const lines = [
    [undefined, 1n],
    [undefined, 2n],
    ['b', 2n],
  ] as const;
  for (const [branch, version] of lines) {
    const staged = branch === undefined ? {} : { branch };
    const key = await managed.stage(version, staged);
    flushed.forget();
    const inode = statSync(`/${key}`).ino;
    await managed.create(version, key, staged);
    const folder = dirname(`/${key}`);
    const names = readdirSync(folder).map((name) => join(folder, name));
    expect(names.filter((name) => statSync(name).ino === inode)).toHaveLength(1);
    const missed = flushedOnTheWay(location, key);
    // Above a folder of versions nothing is new after the first of them.
    const isFirst = version === (branch === undefined ? 1n : 2n);
    expect(missed.filter((path) => isFirst || path.includes('_versions'))).toEqual([]);
  }
});
