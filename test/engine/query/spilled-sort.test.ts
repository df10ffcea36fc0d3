import { asVisible } from '../../../src/engine/query/scan/visible-snapshot.ts';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  Binary,
  Bool,
  DateDay,
  Decimal,
  Dictionary,
  Field,
  Float32,
  Float64,
  Int32,
  Int64,
  Schema,
  TimestampMicrosecond,
  Uint64,
  Utf8,
  vectorFromArray,
  type DataType,
  type RecordBatch,
} from 'apache-arrow';
import { afterEach, expect, it } from 'vitest';
import { batchOf } from '../../../src/arrow/select.ts';
import { ownStatement } from '../../../src/engine/base/statement.ts';
import { execute } from '../../../src/engine/query/execute.ts';
import { planQuery } from '../../../src/engine/query/plan/plan.ts';
import { parseQueryRequest } from '../../../src/engine/request/request.ts';
import {
  budgetOfMemory,
  unboundedBudget,
  type RequestBudget,
} from '../../../src/protocol/budget.ts';
import type { JsonValue } from '../../../src/protocol/json.ts';
import type { Storage } from '../../../src/storage/storage.ts';
import { casesOf } from '../../support/cases.ts';
import { storeTable, type StoredTable } from '../../support/stored-table.ts';
import { unnamedFiles } from '../../support/unnamed-files.ts';

/* A sort that exceeds the memory of its request answers the rows of the sort in memory. */

const BATCHES = 24;
const BATCH_ROWS = 200;
const ROWS = BATCHES * BATCH_ROWS;

interface Column {
  readonly type: DataType;
  /** The value of a number; few numbers differ. */
  readonly value: (seed: number) => unknown;
}

const columns: Readonly<Record<string, Column>> = {
  int: { type: new Int32(), value: (seed) => (seed % 90) - 45 },
  long: { type: new Int64(), value: (seed) => BigInt(seed % 77) - 40n },
  unsigned: { type: new Uint64(), value: (seed) => BigInt(seed % 91) * 2n ** 57n },
  float: { type: new Float32(), value: (seed) => specials[seed % 9] },
  double: { type: new Float64(), value: (seed) => specials[seed % 10] },
  text: {
    type: new Utf8(),
    value: (seed) => ['', 'é', 'long text a', 'long text b', 'a\0'][seed % 5],
  },
  bytes: { type: new Binary(), value: (seed) => Buffer.from([seed % 7, 0, seed % 3]) },
  yes: { type: new Bool(), value: (seed) => seed % 2 === 0 },
  day: { type: new DateDay(), value: (seed) => new Date(86_400_000 * (seed % 50)) },
  moment: { type: new TimestampMicrosecond('UTC'), value: (seed) => seed % 60 },
  name: {
    type: new Dictionary(new Utf8(), new Int32()),
    value: (seed) => `name ${seed % 12}`,
  },
  money: {
    type: new Decimal(2, 12, 128),
    value: (seed) => Uint32Array.of(seed % 40, 0, 0, 0),
  },
};

const specials = [NaN, 0, -0, 1.5, -2, Infinity, -Infinity, 7, 8, 9];

const schema = new Schema([
  new Field('id', new Int64(), false),
  ...Object.entries(columns).map(([name, { type }]) => new Field(name, type, true)),
]);

/** Numbers that look random and are the same each time. */
function* seeds(start: number): Generator<number> {
  for (let seed = start; ;) {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    yield seed >>> 8;
  }
}

function batchAt(first: number): RecordBatch {
  const ids = Array.from({ length: BATCH_ROWS }, (_, at) => BigInt(first + at));
  const vectors = Object.values(columns).map(({ type, value }, column) => {
    const random = seeds(first * 31 + column);
    const values = ids.map(() => {
      const seed = random.next().value as number;
      return seed % 6 === 0 ? null : value(seed);
    });
    return vectorFromArray(values, type);
  });
  return batchOf(schema, [vectorFromArray(ids, new Int64()), ...vectors], BATCH_ROWS);
}

let stored: StoredTable | undefined;

afterEach(async () => {
  await stored?.remove();
  stored = undefined;
});

async function store(): Promise<StoredTable> {
  const batches = Array.from({ length: BATCHES }, (_, at) => batchAt(at * BATCH_ROWS));
  stored = await storeTable(schema, [batches.slice(0, 10), batches.slice(10)]);
  return stored;
}

/** A storage that counts its temporary objects. */
function counting(storage: Storage): { readonly storage: Storage; made: number } {
  const counted = {
    made: 0,
    storage: new Proxy(storage, {
      get(target, name) {
        if (name === 'temporary') counted.made += 1;
        const member: unknown = Reflect.get(target, name);
        return typeof member === 'function' ? member.bind(target) : member;
      },
    }),
  };
  return counted;
}

function run(
  { snapshot, reader }: StoredTable,
  body: Record<string, JsonValue>,
  budget: RequestBudget,
): AsyncGenerator<RecordBatch> {
  return execute(
    planQuery(parseQueryRequest(body), asVisible(snapshot), ownStatement(budget)),
    reader,
  );
}

async function ids(batches: AsyncIterable<RecordBatch>): Promise<readonly bigint[]> {
  const found: bigint[] = [];
  for await (const batch of batches) found.push(...(batch.getChild('id')!.toArray() as bigint[]));
  return found;
}

const orders = Object.keys(columns).flatMap((name, at) => [
  [{ column_name: name, ascending: true, nulls_first: at % 2 === 0 }],
  [{ column_name: name, ascending: false, nulls_first: at % 2 === 1 }],
  [
    { column_name: name, ascending: at % 3 === 0, nulls_first: false },
    { column_name: 'text', ascending: false, nulls_first: true },
    { column_name: 'double', ascending: true, nulls_first: at % 2 === 0 },
  ],
]);

it.each([
  ['some runs', 100_000, casesOf(2, 1)],
  ['runs of runs', 2 ** 15, casesOf(7, 1)],
])('answers the order of the sort in memory from %s', async (_, memory, every) => {
  const table = await store();
  for (const order_by of orders.filter((_, at) => at % every === 0)) {
    const body = { columns: ['id'], order_by };
    const whole = await ids(run(table, body, unboundedBudget()));
    expect(whole).toHaveLength(ROWS);
    const watched = counting(table.snapshot.storage);
    const snapshot = { ...table.snapshot, storage: watched.storage };
    const all = { ...body, columns: ['id', 'money', 'name', '_rowid'] };
    const budget = budgetOfMemory(memory);
    expect(await ids(run({ ...table, snapshot }, all, budget))).toEqual(whole);
    expect(watched.made).toBeGreaterThan(0);
    expect(budget.held).toBe(0);
  }
});

it('answers a window of sorted rows, filtered ones too', async () => {
  const table = await store();
  const order_by = [{ column_name: 'double', ascending: false }];
  for (const more of [{}, { filter: 'int > 0' }, { filter: 'int > 0', prefilter: true }]) {
    const body = { columns: ['id'], order_by, ...more, offset: 123, k: 200_000 };
    const whole = await ids(run(table, body, unboundedBudget()));
    expect(await ids(run(table, body, budgetOfMemory(100_000)))).toEqual(whole);
  }
});

it('leaves no file when its client leaves, and shows none meanwhile', async () => {
  const table = await store();
  const { folder } = table.snapshot;
  const before = await readdir(join(folder, 'data'));
  const rows = run(table, { order_by: [{ column_name: 'text' }] }, budgetOfMemory(100_000));
  expect((await rows.next()).done).toBe(false);
  expect(await unnamedFiles(folder)).not.toEqual([]);
  expect(await readdir(join(folder, 'data'))).toEqual(before);
  await rows.return(undefined);
  expect(await unnamedFiles(folder)).toEqual([]);
});

it('is refused when its files would take most of the disk', async () => {
  const table = await store();
  const storage = new Proxy(table.snapshot.storage, {
    get(target, name) {
      if (name === 'freeBytes') return async () => 10_000;
      const member: unknown = Reflect.get(target, name);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
  const full = { ...table, snapshot: { ...table.snapshot, storage } };
  const body = { order_by: [{ column_name: 'text' }] };
  await expect(ids(run(full, body, budgetOfMemory(100_000)))).rejects.toThrow(
    'The sort needs more than half of the free disk for temporary files',
  );
  expect(await unnamedFiles(table.snapshot.folder)).toEqual([]);
});
