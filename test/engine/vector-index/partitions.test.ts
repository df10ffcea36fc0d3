import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Int64, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { DamagedFile } from '../../../src/arrow/sealed/file-seal.ts';
import { EngineTable, streamOf, type Columns } from '../../support/engine-table.ts';
import { buildIndex } from '../../support/indices.ts';
import { vectorsOf } from '../../support/vector-column.ts';

/* Files of this number of rows have partitions. */
const ROWS = 6000;
const SIZE = 32;
const NEAREST = 10;
const CLUSTERS = 60;

let table: EngineTable;
const damages: DamagedFile[] = [];

beforeEach(async () => {
  damages.length = 0;
  table = await EngineTable.open({
    arrowBody: 2 ** 24,
    cacheBytes: 2 ** 24,
    onDamage: (damage) => damages.push(damage),
  });
  table.engine.startWork((error) => {
    throw error;
  });
});

afterEach(() => table.close());

/** A source of numbers from 0 to 1 that are the same in each run. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c_1b_3c_6d) + 0x9e_37_79_b9) >>> 0;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
}

type Place = (next: () => number) => number[];

const even: Place = (next) => Array.from({ length: SIZE }, next);

const centres = Array.from({ length: CLUSTERS }, (_, at) => even(numbers(1000 + at)));

const clustered: Place = (next) =>
  centres[Math.floor(next() * CLUSTERS)]!.map((value) => value + 0.2 * (next() + next() - 1));

function rowsOf(place: Place, seed: number, first = 0, count = ROWS): Columns {
  const next = numbers(seed);
  const ids = Array.from({ length: count }, (_, at) => BigInt(first + at));
  return {
    id: vectorFromArray(ids, new Int64()),
    group: vectorFromArray(
      ids.map((id) => id % 10n),
      new Int64(),
    ),
    v: vectorsOf(
      SIZE,
      ids.map(() => place(next)),
    ),
  };
}

const queriesOf = (place: Place, count: number) => {
  const next = numbers(9);
  return Array.from({ length: count }, () => place(next));
};

async function index(more: object = {}): Promise<void> {
  const body = { column: 'v', index_type: 'IVF_PQ', ...more };
  const { status } = await buildIndex(table.engine.backend, 't', body);
  expect(status).toBe('SUCCEEDED');
}

async function idsOf(body: object): Promise<readonly bigint[]> {
  return (await table.column('id', { k: NEAREST, ...body })) as bigint[];
}

/** Share of the true nearest rows that are found. */
async function recall(queries: readonly number[][], more: object = {}): Promise<number> {
  let [hits, all] = [0, 0];
  for (const vector of queries) {
    const exact = await idsOf({ vector, bypass_vector_index: true, distance_type: 'l2', ...more });
    const found = new Set(await idsOf({ vector, distance_type: 'l2', ...more }));
    expect(found.size).toBe(exact.length);
    hits += exact.filter((id) => found.has(id)).length;
    all += exact.length;
  }
  return hits / all;
}

/** Number of rows whose codes a search compares. */
async function compared(vector: readonly number[], more: object = {}): Promise<number> {
  const body = { query: { vector, k: NEAREST, ...more } };
  const plan = JSON.stringify(await table.post('analyze_plan', body));
  return Number(/Index v_idx: [^[]*\[(\d+) rows in/.exec(plan)?.[1]);
}

describe.each([
  ['in clusters', clustered],
  ['evenly random', even],
] as const)('among vectors %s', (_, place) => {
  it.each(['l2', 'cosine', 'dot'])(
    'the default finds most of the nearest by %s',
    async (metric) => {
      await table.create(rowsOf(place, 1), rowsOf(place, 2, ROWS, 2500));
      await index({ distance_type: metric });
      const queries = queriesOf(place, 20);
      expect(await recall(queries, { distance_type: metric })).toBeGreaterThanOrEqual(0.95);
      const many = await recall(queries.slice(0, 5), { distance_type: metric, k: 100 });
      expect(many).toBeGreaterThanOrEqual(0.95);
    },
  );

  it('more probes compare more rows and lose none of the nearest, up to all', async () => {
    await table.create(rowsOf(place, 3));
    await index();
    const queries = queriesOf(place, 8);
    const probes = [1, 4, 19, 20, 40, 77];
    const shares: number[] = [];
    for (const nprobes of probes) shares.push(await recall(queries, { nprobes }));
    expect(shares).toEqual(shares.toSorted((one, other) => one - other));
    for (const vector of queries.slice(0, 3)) {
      const rows: number[] = [];
      for (const nprobes of probes) rows.push(await compared(vector, { nprobes }));
      expect(rows).toEqual(rows.toSorted((one, other) => one - other));
      expect(rows[0]).toBeLessThan(ROWS / 10);
      expect(await compared(vector, { maximum_nprobes: 0 })).toBeGreaterThanOrEqual(ROWS);
    }
    expect(await recall(queries, { maximum_nprobes: 0 })).toBe(1);
  });

  it('filters, deletions, bounds and ids of rows are exact', async () => {
    await table.create(rowsOf(place, 4), rowsOf(place, 5, ROWS, 300));
    await index();
    const queries = queriesOf(place, 6);
    for (const filter of ['group = 3', 'group <> 3', 'id < 50', `id >= ${ROWS - 100}`]) {
      expect(await recall(queries, { filter })).toBeGreaterThanOrEqual(0.95);
    }
    const [vector = []] = queries;
    const near = await idsOf({ vector, bypass_vector_index: true });
    await table.post('delete', { predicate: `id in (${near.slice(0, 5).join(', ')})` });
    const found = await idsOf({ vector, maximum_nprobes: 0 });
    expect(found).toEqual(await idsOf({ vector, bypass_vector_index: true }));
    expect(found.slice(0, 5)).toEqual(near.slice(5));
    expect(await idsOf({ vector, version: 2, bypass_vector_index: true })).toEqual(near);
    const body = { vector, columns: ['_distance'], bypass_vector_index: true, k: 40 };
    const distances = (await table.column('_distance', body)) as number[];
    const within = { vector, lower_bound: distances[5], upper_bound: distances[30], k: 5 };
    const exact = await idsOf({ ...within, bypass_vector_index: true });
    expect(await idsOf({ ...within, maximum_nprobes: 0 })).toEqual(exact);
  });
});

it('compares few rows of clustered vectors, whatever their number', async () => {
  await table.create(rowsOf(clustered, 6));
  await index();
  for (const vector of queriesOf(clustered, 5)) {
    expect(await compared(vector)).toBeLessThan(ROWS / 4);
  }
});

it('keeps the first rows of those that are equally near, in one file or several', async () => {
  const [same = []] = queriesOf(clustered, 1);
  const place: Place = (next) => (next() < 0.1 ? same : clustered(next));
  await table.create(rowsOf(place, 7), rowsOf(place, 8, ROWS, 2500));
  await index();
  const exact = await idsOf({ vector: same, k: 50, bypass_vector_index: true });
  expect(exact).toEqual(exact.toSorted((one, other) => Number(one - other)));
  expect(await idsOf({ vector: same, k: 50 })).toEqual(exact);
});

it.each([
  ['all alike', () => Array.from({ length: SIZE }, () => 2)],
  ['zeros', () => Array.from({ length: SIZE }, () => 0)],
  ['not numbers', () => Array.from({ length: SIZE }, () => NaN)],
  [
    'in small heaps far from each other',
    (next: () => number) => {
      const heap = 1000 * Math.floor(next() * 5);
      return Array.from({ length: SIZE }, () => heap + 1e-3 * next());
    },
  ],
] as const)('finds the same as without an index among vectors that are %s', async (_, place) => {
  await table.create(rowsOf(place, 10, 0, 2500));
  await index();
  for (const vector of [place(numbers(3)), even(numbers(4))].filter((one) => one[0]! >= 0)) {
    const body = { vector, columns: ['_distance'] };
    const exact = await table.column('_distance', { ...body, bypass_vector_index: true });
    expect(await table.column('_distance', { ...body, maximum_nprobes: 0 })).toEqual(exact);
  }
});

it('covers merged files with partitions of their own', async () => {
  await table.create(rowsOf(clustered, 11, 0, 1500), rowsOf(clustered, 12, 1500, 1500));
  await index();
  await table.send('insert', { body: streamOf(rowsOf(clustered, 13, 3000, 400)) });
  expect(await recall(queriesOf(clustered, 10))).toBeGreaterThanOrEqual(0.95);
});

async function indexFile(): Promise<string> {
  const root = join(table.engine.data, 'tables');
  const all = await readdir(root, { recursive: true });
  return join(
    root,
    all.find((name) => /\/indices\/.*\.arrow$/.test(name))!,
  );
}

it('reads only the partitions that it searches, and uses no file of which one is damaged', async () => {
  await table.create(rowsOf(clustered, 14));
  await index();
  const path = await indexFile();
  const bytes = await readFile(path);
  const queries = queriesOf(clustered, 12);
  const sound: (readonly bigint[])[] = [];
  for (const vector of queries) sound.push(await idsOf({ vector, bypass_vector_index: true }));
  // A byte of a partition.
  bytes[bytes.length >> 1]! ^= 1;
  await writeFile(path, bytes);
  const noticed: boolean[] = [];
  for (const [at, vector] of queries.entries()) {
    damages.length = 0;
    const found = await idsOf({ vector });
    noticed.push(damages.length > 0);
    if (damages.length > 0) expect(found).toEqual(sound[at]);
  }
  expect(new Set(noticed)).toEqual(new Set([true, false]));
  damages.length = 0;
  expect(await idsOf({ vector: queries[0], maximum_nprobes: 0 })).toEqual(sound[0]);
  expect(damages.map((damage) => damage.path)).toContain(path);
  const { findings } = await table.engine.upkeep!.verifier.verify({});
  expect(JSON.stringify(findings)).toMatch(/indices.*\.arrow.*cannot be (used|read)/);
});
