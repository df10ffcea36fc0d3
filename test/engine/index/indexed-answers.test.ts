import { setTimeout as sleep } from 'node:timers/promises';
import {
  Bool,
  DateDay,
  Field,
  FixedSizeList,
  Float32,
  Float64,
  Int32,
  Int64,
  List,
  TimestampMicrosecond,
  tableFromIPC,
  Utf8,
  vectorFromArray,
  type DataType,
} from 'apache-arrow';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonValue } from '../../../src/protocol/json.ts';
import { freshEngine, type TestEngine } from '../../support/engine.ts';
import { streamOf, type Columns } from '../../support/engine-table.ts';
import { bytesOf } from '../../support/query-answer.ts';
import { ask, type Sent } from '../../support/request.ts';
import { waitUntil } from '../../support/eventually.ts';

/* Two tables get the same statements, one of them has indices: their answers are the same. */

let engine: TestEngine;
const faults: unknown[] = [];

beforeAll(async () => {
  engine = await freshEngine();
  engine.startWork((error) => faults.push(error));
});

afterAll(async () => {
  await engine.close();
  expect(faults).toEqual([]);
});

const items = new List(new Field('item', new Utf8(), true));
const pair = new FixedSizeList(2, new Field('item', new Float32(), true));

/** A source of numbers that are the same in each run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

interface Column {
  readonly type: DataType;
  readonly index: string | null;
  readonly value: (next: (below: number) => number, row: number) => unknown;
}

const orNull =
  (value: Column['value']): Column['value'] =>
  (next, row) =>
    next(9) === 0 ? null : value(next, row);

const floats = [0, -0, NaN, Infinity, -Infinity, 0.5, -1.25, 7, 1e300];
const words = ['', 'a', 'ab', 'abc', 'abd', 'b', 'é', '😀', 'x%', 'x_y'];

const columns: Readonly<Record<string, Column>> = {
  id: { type: new Int64(), index: 'BTREE', value: (_, row) => BigInt(row) },
  n: { type: new Int32(), index: 'BTREE', value: orNull((next) => next(40) - 20) },
  f: { type: new Float64(), index: 'BTREE', value: orNull((next) => floats[next(9)]) },
  s: { type: new Utf8(), index: 'BTREE', value: orNull((next) => words[next(10)]) },
  b: { type: new Bool(), index: 'BITMAP', value: orNull((next) => next(2) === 1) },
  d: {
    type: new DateDay(),
    index: 'BTREE',
    value: orNull((next) => new Date(86_400_000 * next(9))),
  },
  t: {
    type: new TimestampMicrosecond(),
    index: 'BITMAP',
    value: orNull((next) => 1000 * next(9)),
  },
  c: { type: new Utf8(), index: 'BITMAP', value: orNull((next) => words[next(4)]) },
  tags: {
    type: items,
    index: 'LABEL_LIST',
    value: orNull((next) => Array.from({ length: next(4) }, () => words[next(5)])),
  },
  plain: { type: new Int32(), index: null, value: (next) => next(5) },
  v: { type: pair, index: null, value: (next) => [next(100), next(100)] },
};

function rowsFrom(first: number, count: number, seed: number): Columns {
  const next = numbers(seed);
  const rows = Array.from({ length: count }, (_, row) => first + row);
  return Object.fromEntries(
    Object.entries(columns).map(([name, { type, value }]) => [
      name,
      vectorFromArray(
        rows.map((row) => value(next, row)),
        type,
      ),
    ]),
  );
}

const send = (table: string, action: string, sent: Sent = {}) =>
  ask(engine.backend, `POST /v1/table/${table}/${action}`, sent);

const post = async (table: string, action: string, body: object = {}): Promise<JsonValue> =>
  (await send(table, action, { body })).json;

async function answerOf(table: string, body: object): Promise<unknown> {
  try {
    const answer = await send(table, 'query', { body: { vector: [], ...body } });
    const rows = tableFromIPC(await bytesOf(answer.body));
    return Object.fromEntries(
      rows.schema.fields.map(({ name }) => [name, rows.getChild(name)!.toArray().join()]),
    );
  } catch (error) {
    return (error as Error).message;
  }
}

/** The plan and what it did. */
async function planOf(table: string, filter: string): Promise<string> {
  const query = { vector: [], k: 10, filter };
  return JSON.stringify(await post(table, 'explain_plan', { query }));
}

async function ended(transaction: JsonValue): Promise<void> {
  const { transaction_id: id } = transaction as { transaction_id: string };
  for (;;) {
    const { json } = await ask(engine.backend, `POST /v1/transaction/${id}/describe`, { body: {} });
    const { status } = json as { status: string };
    if (status === 'SUCCEEDED') return;
    if (status === 'FAILED') throw new Error(JSON.stringify(json));
    await sleep(5);
  }
}

async function indexed(table: string): Promise<void> {
  for (const [column, { index }] of Object.entries(columns)) {
    if (index === null) continue;
    await ended(await post(table, 'create_scalar_index', { column, index_type: index }));
  }
}

async function unindexedRows(table: string): Promise<bigint> {
  const { indexes } = (await post(table, 'index/list')) as unknown as {
    indexes: { num_unindexed_rows: number }[];
  };
  return indexes.reduce((sum, one) => sum + BigInt(one.num_unindexed_rows), 0n);
}

const tests = [
  ...[-21, -3, 0, 7, 19, 2.5].flatMap((n) => [`n = ${n}`, `n > ${n}`, `n <= ${n}`, `n != ${n}`]),
  'n between -3 and 4',
  'n in (1, 2, 3, null)',
  'n not in (1, 2)',
  'n is null',
  'n is not null',
  'n is distinct from 3',
  'not (n = 3)',
  'id = 77',
  'id in (5, 4095, 4096, 100000)',
  'id >= 4090 and id < 4103',
  'f = 0',
  "f = cast('nan' as double)",
  'f > 1',
  'f < 0.6',
  'f is null',
  "s = 'ab'",
  "s like 'ab%'",
  "s like 'a_'",
  "s like 'x\\%'",
  "s ilike 'AB%'",
  "s >= 'b'",
  "starts_with(s, 'ab')",
  'length(s) = 2',
  'b',
  'not b',
  'b is null',
  'b is not true',
  "d = date '1970-01-03'",
  "d > date '1970-01-07'",
  "t < timestamp '1970-01-01T00:00:03'",
  "c = 'ab'",
  "c in ('a', '')",
  'c is null',
  "array_has(tags, 'a')",
  "array_has_any(tags, ['ab', 'nowhere'])",
  "array_has_all(tags, ['a', 'ab'])",
  "array_has_all(tags, ['a', null])",
  'array_has_all(tags, [])',
  "not array_has(tags, 'a')",
  'tags is null',
  'plain = 2',
  '10 / n > 1',
  '_rowoffset < 50',
  '_rowid = 9',
] as const;

const predicate = fc.letrec<{ tree: string; leaf: string }>((tie) => ({
  leaf: fc.constantFrom(...tests),
  tree: fc.oneof(
    { maxDepth: 3 },
    tie('leaf'),
    fc.tuple(tie('tree'), tie('tree')).map(([one, other]) => `(${one}) and (${other})`),
    fc.tuple(tie('tree'), tie('tree')).map(([one, other]) => `(${one}) or (${other})`),
    tie('tree').map((one) => `not (${one})`),
  ),
})).tree;

/** Asks both tables the same. */
async function same(filter: string, more: object = {}): Promise<void> {
  const query = {
    columns: ['_rowoffset'],
    with_row_id: true,
    filter,
    ...more,
  };
  const [one, other] = [await answerOf('indexed', query), await answerOf('plain', query)];
  expect(one, filter).toEqual(other);
}

async function sameCount(filter: string): Promise<void> {
  const count = async (table: string) =>
    post(table, 'count_rows', { predicate: filter }).catch((error: Error) => error.message);
  expect(await count('indexed'), filter).toEqual(await count('plain'));
}

async function both(action: string, sent: () => Sent): Promise<void> {
  const change = async (table: string) =>
    send(table, action, sent()).then(
      () => 'done',
      (error: Error) => error.message,
    );
  expect(await change('indexed')).toBe(await change('plain'));
}

/** @param step Only each `step`-th of the tests runs by itself. */
async function sameForAll(runs: number, step = 1): Promise<void> {
  for (const test of tests.filter((_, at) => at % step === 0)) {
    await same(test, { columns: ['id', '_rowoffset'] });
    await sameCount(test);
  }
  await fc.assert(
    fc.asyncProperty(predicate, async (filter) => {
      await same(filter);
      await sameCount(filter);
    }),
    { numRuns: runs },
  );
}

describe('a table with indices', () => {
  beforeAll(async () => {
    for (const table of ['indexed', 'plain']) {
      await send(table, 'create', { body: streamOf(rowsFrom(0, 4500, 1)) });
      await send(table, 'insert', { body: streamOf(rowsFrom(4500, 300, 2)) });
    }
    await indexed('indexed');
  });

  it('finds what the other finds, by indices', async () => {
    expect(await planOf('indexed', 'id = 77')).toContain('Index id_idx');
    expect(await planOf('plain', 'id = 77')).not.toContain('Index');
    await sameForAll(30);
  });

  it('orders, windows and searches the same rows', async () => {
    for (const filter of ['n = 3', "s like 'ab%' and plain = 1", "array_has(tags, 'a')"]) {
      await same(filter, { k: 7, offset: 3 });
      await same(filter, { order_by: [{ column_name: 'f', ascending: false }], k: 50 });
      await same(filter, { vector: [50, 50], k: 9, columns: ['id', '_distance'] });
      await same(filter, { vector: [50, 50], k: 9, columns: ['id'], prefilter: false });
    }
  });

  it('stays right through deletes, updates, appends, and merges of files', async () => {
    await both('delete', () => ({ body: { predicate: 'n = 5 or id between 20 and 90' } }));
    await both('delete', () => ({
      body: { predicate: "array_has(tags, 'abd') and 5 / plain > 1" },
    }));
    await both('update', () => ({
      body: {
        predicate: "s = 'ab'",
        updates: [
          ['n', 'n + 1'],
          ['s', "'moved'"],
        ],
      },
    }));
    await both('insert', () => ({ body: streamOf(rowsFrom(4800, 200, 3)) }));
    await sameForAll(10, 5);
    await waitUntil(async () => (await unindexedRows('indexed')) === 0n);
    await sameForAll(10, 5);
    await both('delete', () => ({ body: { predicate: 'id in (1, 2, 4801)' } }));
    await sameForAll(10, 5);
  });

  it('answers of versions before by what they had', async () => {
    await same('n = 5', { version: 1 });
    await same("s = 'ab'", { version: 2 });
    expect(await post('indexed', 'index/list', { version: 1 })).toEqual({ indexes: [] });
  });

  it('keeps its indices on a branch', async () => {
    for (const table of ['indexed', 'plain']) await post(table, 'branches/create', { name: 'b' });
    await both('delete', () => ({ body: { predicate: 'n = 7', branch: 'b' } }));
    for (const filter of ['n = 7', 'n = 8', 'id = 400', "c = 'ab'"]) {
      await same(filter, { branch: 'b' });
      await same(filter);
    }
  });
});
