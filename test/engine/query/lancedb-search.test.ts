import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type * as LanceDb from '@lancedb/lancedb';
import type * as Arrow from 'apache-arrow';
import { Field, Int64, Schema, vectorFromArray } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { batchOf } from '../../../src/arrow/select.ts';
import type { JsonValue } from '../../../src/protocol/json.ts';
import { answerOf, rowsOf } from '../../support/query-answer.ts';
import { storeTable, type StoredTable } from '../../support/stored-table.ts';
import { vectorsOf, vectorType } from '../../support/vector-column.ts';

/* The same table in LanceDB, in this process, is the judge of searches without an index. */

// LanceDB loads the CommonJS instance of the Arrow package; its values are made with that one.
const require = createRequire(import.meta.url);
const lancedb: typeof LanceDb = require('@lancedb/lancedb');

const ROWS = 600;
const LENGTH = 16;
const random = numbers(20_240_117);
const vectors = Array.from({ length: ROWS }, (_, id) =>
  id % 17 === 3 ? null : Array.from({ length: LENGTH }, () => Math.fround(random() * 2 - 1)),
);

const schema = new Schema([
  new Field('id', new Int64(), true),
  new Field('vector', vectorType(LENGTH), true),
]);

let stored: StoredTable;
let folder: string;
let judge: LanceDb.Table;

beforeAll(async () => {
  const file = (start: number, end: number) => [
    batchOf(
      schema,
      [vectorFromArray(ids(start, end), new Int64()), vectorsOf(LENGTH, vectors.slice(start, end))],
      end - start,
    ),
  ];
  stored = await storeTable(schema, [file(0, 250), file(250, 251), file(251, ROWS)]);
  folder = await mkdtemp(join(tmpdir(), 'arrowgate-lancedb-'));
  const db = await lancedb.connect(folder);
  const rows = vectors.map((vector, id) => ({ id: BigInt(id), vector }));
  judge = await db.createTable('t', lancedb.makeArrowTable(rows, { schema: judgeSchema() }));
});

afterAll(async () => {
  judge.close();
  await stored.remove();
  await rm(folder, { recursive: true });
});

describe('a search without an index', () => {
  const metrics = ['l2', 'cosine', 'dot'] as const;
  const query = Array.from({ length: LENGTH }, () => Math.fround(random() * 2 - 1));

  it.each(metrics)('finds by %s what LanceDB finds', async (metric) => {
    const expected = await judge.vectorSearch(query).distanceType(metric).limit(25).toArray();
    await same({ vector: query, distance_type: metric, k: 25 }, expected);
  });

  it.each(metrics)('finds all rows with a vector by %s', async (metric) => {
    const expected = await judge
      .vectorSearch(query)
      .distanceType(metric)
      .limit(2 * ROWS)
      .toArray();
    expect(expected).toHaveLength(vectors.filter((vector) => vector !== null).length);
    await same({ vector: query, distance_type: metric, k: 2n ** 63n - 1n }, expected);
  });

  it.each(metrics)('keeps to bounds by %s', async (metric) => {
    const all = await judge
      .vectorSearch(query)
      .distanceType(metric)
      .limit(2 * ROWS)
      .toArray();
    const [lower, upper] = [all[40]._distance, all[90]._distance];
    const bounded = judge
      .vectorSearch(query)
      .distanceType(metric)
      .limit(2 * ROWS);
    const expected = await bounded.distanceRange(lower, upper).toArray();
    expect(expected).toHaveLength(50);
    const bounds = { lower_bound: lower, upper_bound: upper };
    await same({ vector: query, distance_type: metric, k: -1, ...bounds }, expected);
  });

  it('filters before and after the search', async () => {
    const before = await judge.vectorSearch(query).where('id % 7 = 0').limit(20).toArray();
    await same({ vector: query, filter: 'id % 7 = 0', k: 20 }, before);
    const after = judge.vectorSearch(query).where('id % 7 = 0').limit(60);
    const expected = await after.postfilter().toArray();
    await same({ vector: query, filter: 'id % 7 = 0', prefilter: false, k: 60 }, expected);
  });

  it('leaves out as many as the offset says, with either filter', async () => {
    const before = await judge.vectorSearch(query).where('id < 300').limit(20).offset(15).toArray();
    await same({ vector: query, filter: 'id < 300', k: 20, offset: 15 }, before);
    const after = judge.vectorSearch(query).where('id < 300').limit(40).offset(5);
    const expected = await after.postfilter().toArray();
    const body = { vector: query, filter: 'id < 300', prefilter: false, k: 40, offset: 5 };
    await same(body, expected);
  });

  it('puts what it found in order, and the window behind the order', async () => {
    const descending = { columnName: 'id', ascending: false, nullsFirst: false };
    const order_by = [{ column_name: 'id', ascending: false }];
    const all = await judge.vectorSearch(query).limit(30).orderBy(descending).toArray();
    await same({ vector: query, k: 30, order_by }, all);
    const part = judge.vectorSearch(query).limit(9).offset(4).orderBy(descending);
    await same({ vector: query, k: 9, offset: 4, order_by }, await part.toArray());
    const behind = judge.vectorSearch(query).where('id < 300').limit(40).offset(3);
    const expected = await behind.postfilter().orderBy(descending).toArray();
    const body = { vector: query, filter: 'id < 300', prefilter: false, k: 40, offset: 3 };
    await same({ ...body, order_by }, expected);
  });

  it('finds nothing with a zero vector by cosine', async () => {
    const zero = Array.from({ length: LENGTH }, () => 0);
    const expected = await judge.vectorSearch(zero).distanceType('cosine').limit(5).toArray();
    await same({ vector: zero, distance_type: 'cosine', k: 5 }, expected);
  });
});

interface Found {
  readonly id: bigint;
  readonly _distance: number;
}

async function same(body: Record<string, JsonValue>, expected: readonly Found[]): Promise<void> {
  const found = rowsOf(await answerOf(stored, { ...body, columns: ['id'] }));
  expect(found.map((row) => row['id'])).toEqual(expected.map(({ id }) => id));
  found.forEach((row, index) => {
    expect(row['_distance']).toBeCloseTo(expected[index]!._distance, 4);
  });
}

function judgeSchema() {
  const arrow: typeof Arrow = require('apache-arrow');
  const item = new arrow.Field('item', new arrow.Float32(), true);
  return new arrow.Schema([
    new arrow.Field('id', new arrow.Int64(), true),
    new arrow.Field('vector', new arrow.FixedSizeList(LENGTH, item), true),
  ]);
}

function ids(start: number, end: number): bigint[] {
  return Array.from({ length: end - start }, (_, index) => BigInt(start + index));
}

/** Numbers from 0 to 1 that are the same in each run. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
