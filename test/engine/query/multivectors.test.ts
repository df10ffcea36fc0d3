import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type * as LanceDb from '@lancedb/lancedb';
import type * as ArrowModule from 'apache-arrow';
import { tableFromIPC } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { refusalOf } from '../../support/engine-table.ts';
import { freshEngine, type TestEngine } from '../../support/engine.ts';
import { bytesOf } from '../../support/query-answer.ts';
import { TableClient } from '../../support/table-client.ts';

/* Searches of columns with several vectors a row, with LanceDB in this process as the judge. */

// LanceDB loads the CommonJS instance of the Arrow package; its values are made with that one.
const require = createRequire(import.meta.url);
const lancedb: typeof LanceDb = require('@lancedb/lancedb');
const arrow: typeof ArrowModule = require('apache-arrow');

const LENGTH = 4;
let seed = 7;
const random = () => {
  seed = (seed * 48_271) % 2_147_483_647;
  return Math.fround((seed / 2_147_483_647) * 2 - 1);
};
const vector = () => Array.from({ length: LENGTH }, random);
const rows = Array.from({ length: 200 }, (_, id) => {
  if (id % 23 === 5) return null;
  if (id % 31 === 7) return [];
  const some = Array.from({ length: 1 + (id % 5) }, vector);
  return id % 13 === 4 ? [...some, [0, 0, 0, 0]] : some;
});

let engine: TestEngine;
let table: TableClient;
let folder: string;
let judge: LanceDb.Table;

beforeAll(async () => {
  const item = new arrow.Field('item', new arrow.Float32(), true);
  const inner = new arrow.FixedSizeList(LENGTH, item);
  const type = new arrow.List(new arrow.Field('item', inner, true));
  const schema = new arrow.Schema([
    new arrow.Field('id', new arrow.Int32(), true),
    new arrow.Field('tokens', type, true),
  ]);
  const ids = rows.map((_, id) => id);
  const children = [
    arrow.vectorFromArray(ids, new arrow.Int32()).data[0]!,
    arrow.vectorFromArray(rows, type).data[0]!,
  ];
  const struct = new arrow.Struct(schema.fields);
  const data = arrow.makeData({ type: struct, length: rows.length, children });
  const all = new arrow.Table(schema, new arrow.RecordBatch(schema, data));
  folder = await mkdtemp(join(tmpdir(), 'multivectors-'));
  judge = await (await lancedb.connect(folder)).createTable('t', all);
  engine = await freshEngine();
  table = new TableClient(engine);
  await table.send('create', { body: arrow.tableToIPC(all, 'stream') });
});

afterAll(async () => {
  judge.close();
  await engine.close();
  await rm(folder, { recursive: true });
});

interface Found {
  readonly id: number;
  readonly distance: number;
}

async function found(body: object): Promise<readonly Found[]> {
  const answer = await table.send('query', { body });
  const rowsFound = tableFromIPC(await bytesOf(answer.body));
  expect(rowsFound.schema.fields.map(({ name }) => name)).not.toContain('query_index');
  return rowsFound
    .toArray()
    .map((row: { id: number; _distance: number }) => ({ id: row.id, distance: row._distance }));
}

async function expected(
  vectors: readonly number[][],
  metric: 'l2' | 'cosine' | 'dot',
  limit: number,
): Promise<readonly Found[]> {
  let query = judge.query().nearestTo(vectors[0]!).distanceType(metric).limit(limit);
  for (const one of vectors.slice(1)) query = query.addQueryVector(one);
  const answer = (await query.toArray()) as { id: number; _distance: number }[];
  return answer.map((row) => ({ id: row.id, distance: row._distance }));
}

describe.each(['l2', 'cosine', 'dot'] as const)('by %s', (metric) => {
  it.each([1, 2, 5])('LanceDB finds the same with %i query vectors', async (count) => {
    const vectors = Array.from({ length: count }, vector);
    for (const limit of [10, 1000]) {
      const judged = await expected(vectors, metric, limit);
      const own = await found({ vector: vectors, distance_type: metric, k: limit });
      expect(own.map(({ id }) => id)).toEqual(judged.map(({ id }) => id));
      for (const [at, { distance }] of own.entries()) {
        expect(distance).toBeCloseTo(judged[at]!.distance, 4);
      }
    }
  });
});

it('one flat vector is a search too, and a filter keeps to its rows', async () => {
  const one = vector();
  const flat = await found({ vector: one, k: 7, filter: 'id < 50' });
  const nested = await found({ vector: [one], k: 7, filter: 'id < 50' });
  expect(flat).toEqual(nested);
  expect(flat).toHaveLength(7);
  expect(flat.every(({ id }) => id < 50)).toBe(true);
});

it('refuses vectors of another length, and hamming', async () => {
  expect(await refusalOf(table.send('query', { body: { vector: [[1, 2]], k: 1 } }))).toBe(
    '13 the vectors of "tokens" have 4 values, the query has 2',
  );
  const body = { vector: [vector()], k: 1, distance_type: 'hamming' };
  expect(await refusalOf(table.send('query', { body }))).toMatch(/^13 the distance hamming is one/);
});
