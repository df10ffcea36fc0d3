import { setTimeout as sleep } from 'node:timers/promises';
import {
  Float16,
  Float64,
  Int64,
  Int8,
  makeData,
  makeVector,
  Uint8,
  vectorFromArray,
  type DataType,
  type Vector,
} from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { floatToHalf } from '../../../../src/arrow/half-float.ts';
import type { JsonValue } from '../../../../src/protocol/json.ts';
import { EngineTable, streamOf, type Columns } from '../../../support/engine-table.ts';
import { ask } from '../../../support/request.ts';
import { vectorType, vectorsOf } from '../../../support/vector-column.ts';

/* What an index finds is compared with what a search of every vector finds. */

const SIZE = 24;
const ROWS = 3000;
const NEAREST = 10;

/** A source of numbers from 0 to 1 that are the same in each run. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function rowsFrom(first: number, count: number, seed: number): Columns {
  const next = numbers(seed);
  const lists = (value: () => number, size = SIZE) =>
    Array.from({ length: count }, () => Array.from({ length: size }, value));
  const floats = lists(() => next() * 2 - 0.5);
  const whole = lists(() => Math.floor(next() * 256) - 128);
  const bits = lists(() => Math.floor(next() * 256), 16);
  return {
    id: vectorFromArray(
      Array.from({ length: count }, (_, at) => BigInt(first + at)),
      new Int64(),
    ),
    group: vectorFromArray(
      Array.from({ length: count }, () => BigInt(Math.floor(next() * 100))),
      new Int64(),
    ),
    f32: vectorsOf(
      SIZE,
      floats.map((row, at) => (at % 50 === 7 ? null : row)),
    ),
    f64: listsOf(SIZE, new Float64(), Float64Array.from(floats.flat())),
    f16: listsOf(SIZE, new Float16(), floatToHalf(Float32Array.from(floats.flat()))),
    i8: listsOf(SIZE, new Int8(), Int8Array.from(whole.flat())),
    bits: listsOf(16, new Uint8(), Uint8Array.from(bits.flat())),
  };
}

function listsOf(size: number, item: DataType, data: ArrayLike<number>): Vector {
  const child = makeData({ type: item, data } as never);
  const type = vectorType(size, item);
  return makeVector(makeData({ type, length: data.length / size, nullCount: 0, child }));
}

async function ended(table: EngineTable, answer: JsonValue): Promise<JsonValue> {
  const { transaction_id: id } = answer as { transaction_id: string };
  for (;;) {
    const line = `POST /v1/transaction/${id}/describe`;
    const { json } = await ask(table.engine.backend, line, { body: {} });
    const { status } = json as { status: string };
    if (status === 'SUCCEEDED' || status === 'FAILED') return json;
    await sleep(5);
  }
}

async function index(table: EngineTable, column: string, more: object = {}): Promise<void> {
  const body = { column, index_type: 'IVF_PQ', ...more };
  const done = await ended(table, await table.post('create_index', body));
  expect(done).toMatchObject({ status: 'SUCCEEDED' });
}

interface Found {
  readonly id: bigint;
  readonly _distance: number;
}

async function search(table: EngineTable, body: object): Promise<readonly Found[]> {
  const rows = await table.rows({ k: NEAREST, columns: ['id', '_distance'], ...body });
  return rows as unknown as Found[];
}

/** The share of what a search of every vector finds that a search by the index finds; distances must be the same. */
async function recall(table: EngineTable, bodies: readonly object[]): Promise<number> {
  let [hits, all] = [0, 0];
  for (const body of bodies) {
    const exact = await search(table, { distance_type: 'l2', ...body, bypass_vector_index: true });
    const found = await search(table, body);
    expect(found).toHaveLength(exact.length);
    const distances = found.map(({ _distance }) => _distance);
    expect(distances).toEqual(distances.toSorted((one, other) => one - other));
    const truth = new Map(exact.map(({ id, _distance }) => [id, _distance]));
    for (const { id, _distance } of found) {
      if (!truth.has(id)) continue;
      expect(_distance).toBe(truth.get(id));
      hits += 1;
    }
    all += exact.length;
  }
  return all === 0 ? 1 : hits / all;
}

function queries(column: string, count: number, size = SIZE, scale = 2, shift = -0.5) {
  const next = numbers(99);
  return Array.from({ length: count }, () => ({
    vector_column: column,
    vector: Array.from({ length: size }, () => next() * scale + shift),
  }));
}

const byteQueries = (count: number) =>
  queries('bits', count, 16, 255, 0).map(({ vector, ...rest }) => ({
    ...rest,
    vector: vector.map(Math.round),
  }));

async function planOf(table: EngineTable, query: object): Promise<string> {
  return JSON.stringify(await table.post('explain_plan', { query: { k: NEAREST, ...query } }));
}

describe('a search by an index', () => {
  let table: EngineTable;
  const faults: unknown[] = [];

  beforeAll(async () => {
    table = await EngineTable.open({ arrowBody: 2 ** 24, cacheBytes: 2 ** 24 });
    table.engine.startWork((error) => faults.push(error));
    await table.create(rowsFrom(0, ROWS - 500, 1), rowsFrom(ROWS - 500, 500, 2));
  });

  afterAll(async () => {
    await table.close();
    expect(faults).toEqual([]);
  });

  const kinds: readonly (readonly [string, string, ReturnType<typeof queries>])[] = [
    ['f32', 'l2', queries('f32', 20)],
    ['f32', 'cosine', queries('f32', 20)],
    ['f32', 'dot', queries('f32', 20)],
    ['f64', 'l2', queries('f64', 20)],
    ['f16', 'cosine', queries('f16', 20)],
    ['i8', 'l2', queries('i8', 20, SIZE, 255, -128)],
    ['i8', 'dot', queries('i8', 20, SIZE, 255, -128)],
    ['bits', 'l2', byteQueries(20)],
    ['bits', 'hamming', byteQueries(20)],
  ];

  it.each(kinds)('finds most of the nearest in %s by %s', async (column, metric, bodies) => {
    await index(table, column, { name: `${column}_${metric}`, distance_type: metric });
    const asked = bodies.map((body) => ({ ...body, distance_type: metric }));
    expect(await planOf(table, asked[0]!)).toContain(`Index ${column}_${metric}: ${column}`);
    const share = await recall(table, asked);
    expect(share).toBeGreaterThan(metric === 'hamming' ? 0.999 : 0.9);
  });

  const [one, other] = queries('f32', 2);
  const base = { ...one!, distance_type: 'l2' };

  it('finds more when it is told to look further', async () => {
    const bodies = queries('f32', 20).map((body) => ({ ...body, distance_type: 'l2' }));
    expect(
      await recall(
        table,
        bodies.map((body) => ({ ...body, maximum_nprobes: 0 })),
      ),
    ).toBe(1);
  });

  it('keeps to a filter that keeps many rows or few, before or behind', async () => {
    for (const filter of ['group < 50', 'group = 3', 'group < 0', 'id < 2000', 'id >= 0']) {
      expect(await recall(table, [{ ...base, filter }])).toBeGreaterThan(0.8);
    }
    const behind = { ...base, k: 50, filter: 'group < 50', prefilter: false };
    const found = await search(table, behind);
    expect(found.length).toBeGreaterThan(5);
    expect(found.length).toBeLessThan(50);
  });

  it('keeps to bounds, offsets and ids of rows', async () => {
    const exact = await search(table, { ...base, k: 40, bypass_vector_index: true });
    const at = (place: number) => exact[place]!._distance;
    const within = { ...base, k: 5, lower_bound: at(10), upper_bound: at(30) };
    const found = await search(table, within);
    expect(found.length).toBe(5);
    expect(found[0]!._distance).toBeGreaterThanOrEqual(at(10));
    const few = await search(table, { ...base, k: 20, upper_bound: at(3) });
    expect(few.map(({ id }) => id)).toEqual(exact.slice(0, 3).map(({ id }) => id));
    const later = await search(table, { ...base, k: 5, offset: 5, maximum_nprobes: 0 });
    expect(later.map(({ id }) => id)).toEqual(exact.slice(5, 10).map(({ id }) => id));
    const [first] = await table.rows({ ...base, k: 1, columns: ['id'], with_row_id: true });
    expect(first).toEqual({ id: exact[0]!.id, _distance: at(0), _rowid: exact[0]!.id });
  });

  it('answers several vectors at once', async () => {
    const vector = { multi_vector: [one!.vector, other!.vector] };
    const body = { ...base, vector, k: 3, columns: ['id', 'query_index'], maximum_nprobes: 0 };
    const rows = await table.rows(body);
    const alone = await Promise.all(
      [one!, other!].map((each) =>
        search(table, { ...base, ...each, k: 3, bypass_vector_index: true }),
      ),
    );
    expect(rows.map(({ id }) => id)).toEqual(alone.flat().map(({ id }) => id));
    expect(rows.map(({ query_index: at }) => at)).toEqual([0, 0, 0, 1, 1, 1]);
  });

  it('compares every vector when it is told to, and by another distance', async () => {
    expect(await planOf(table, { ...base, bypass_vector_index: true })).not.toContain('Index');
    expect(await planOf(table, { ...byteQueries(1)[0]!, distance_type: 'dot' })).not.toContain(
      'Index',
    );
    expect(await planOf(table, { ...base, k: undefined })).toContain('Index f32_l2');
    expect(await planOf(table, { ...base, k: -1 })).not.toContain('Index');
  });

  it('takes the distance of the newest index when none is asked for', async () => {
    const [found] = await search(table, { ...one!, k: 1 });
    const [dot] = await search(table, { ...base, distance_type: 'dot', k: 1 });
    expect(found).toEqual(dot);
  });

  it('never finds deleted rows, and finds changed and new ones at once', async () => {
    const [first, second, third] = await search(table, { ...base, bypass_vector_index: true });
    await table.post('delete', { predicate: `id = ${first!.id}` });
    await table.post('update', { predicate: `id = ${second!.id}`, updates: [['group', '1000']] });
    const now = await search(table, { ...base, k: 2 });
    expect(now.map(({ id }) => id)).toEqual([second!.id, third!.id]);
    const near = rowsFrom(ROWS, 1, 5);
    await table.send('insert', {
      body: streamOf({ ...near, f32: vectorsOf(SIZE, [one!.vector]) }),
    });
    expect(await search(table, { ...base, k: 1 })).toEqual([{ id: BigInt(ROWS), _distance: 0 }]);
    const old = await search(table, { ...base, k: 1, version: 3, bypass_vector_index: true });
    expect(old[0]!.id).toBe(first!.id);
  });
});
