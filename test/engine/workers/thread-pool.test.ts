import { asVisible } from '../../../src/engine/query/scan/visible-snapshot.ts';
import {
  Dictionary,
  Field,
  Float64,
  Int32,
  Int64,
  List,
  Schema,
  Utf8,
  vectorFromArray,
} from 'apache-arrow';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { batchOf } from '../../../src/arrow/select.ts';
import { rowsAnswer } from '../../../src/engine/query/plan/answer.ts';
import { countRows, predicateOf } from '../../../src/engine/query/rows/count.ts';
import { execute } from '../../../src/engine/query/execute.ts';
import {
  assignmentFormula,
  bindFormula,
  predicateFormula,
  valuesOf,
} from '../../../src/engine/request/formula.ts';
import { planQuery, type QueryPlan } from '../../../src/engine/query/plan/plan.ts';
import { parseQueryRequest, type QueryRequest } from '../../../src/engine/request/request.ts';
import { ownStatement, type Statement } from '../../../src/engine/base/statement.ts';
import { MemoryBudget } from '../../../src/engine/format/memory/memory-budget.ts';
import { HeavyWork } from '../../../src/engine/workers/heavy-work.ts';
import { ThreadPool } from '../../../src/engine/workers/thread-pool.ts';
import { OverBudget, RequestBudget, defaultBudget } from '../../../src/protocol/budget.ts';
import type { JsonValue } from '../../../src/protocol/json.ts';
import { storeTable, type StoredTable } from '../../support/stored-table.ts';

/* Threads run the built program: `npm run setup` comes before these tests, as it does before all. */

type Query = Record<string, JsonValue>;

const ROWS = 60_000;

const schema = new Schema(
  [
    new Field('id', new Int64(), false),
    new Field('name', new Utf8(), true),
    new Field('value', new Float64(), true),
  ],
  new Map([['kept', 'with the table']]),
);

let stored: StoredTable;
let pool: ThreadPool;
/** For tests that leave a pool as they found it. */
const common = new ThreadPool(1);
/** A signal that nobody aborts. */
const never = () => new AbortController().signal;

beforeAll(async () => {
  const batch = (first: number) => {
    const rows = Array.from({ length: ROWS / 4 }, (_, at) => first + at);
    const columns = [
      vectorFromArray(rows.map(BigInt), new Int64()),
      vectorFromArray(
        rows.map((row) => (row % 9 === 0 ? null : `row ${(row * 7919) % 1000}`)),
        new Utf8(),
      ),
      vectorFromArray(
        rows.map((row) => Math.sin(row)),
        new Float64(),
      ),
    ];
    return batchOf(schema, columns, rows.length);
  };
  const batches = [0, 1, 2, 3].map((index) => batch((index * ROWS) / 4));
  stored = await storeTable(schema, [batches.slice(0, 1), batches.slice(1)]);
});
afterAll(async () => {
  await common.close();
  await stored.remove();
});

afterEach(async () => {
  if (pool !== common) await pool.close();
});

function heavyWork(threads = 1): HeavyWork {
  pool = new ThreadPool(threads);
  return new HeavyWork(pool, new MemoryBudget(0));
}

function commonWork(): HeavyWork {
  pool = common;
  return new HeavyWork(pool, new MemoryBudget(0));
}

async function bytesOf(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
}

/** A query, and how it is planned. */
function asked(query: Query, statement: Statement = ownStatement()): [QueryRequest, QueryPlan] {
  const request = parseQueryRequest(query);
  return [request, planQuery(request, asVisible(stored.snapshot), statement)];
}

/** The statement of a request whose client disconnects with the signal. */
function until(signal: AbortSignal): Statement {
  return { ...ownStatement(), signal: () => signal };
}

async function onThread(heavy: HeavyWork, query: Query, signal = never()): Promise<Buffer> {
  return bytesOf(await heavy.query(...asked(query, until(signal))));
}

async function here(query: Query): Promise<Buffer> {
  const { snapshot, reader } = stored;
  const plan = planQuery(parseQueryRequest(query), asVisible(snapshot));
  const { body } = await rowsAnswer({
    schema: plan.schema,
    batches: execute(plan, reader),
    version: snapshot.version,
    signal: never(),
  });
  return bytesOf(body as AsyncIterable<Uint8Array>);
}

const sorted = { order_by: [{ column_name: 'name' }, { column_name: 'id', ascending: false }] };

describe('a pool of threads', () => {
  it.each<Query>([
    sorted,
    { ...sorted, filter: "name = 'row 5' OR value > 0.9", with_row_id: true, k: 500, offset: 7 },
    { filter: 'value BETWEEN -0.1 AND 0.1', columns: ['id', 'value'] },
    { columns: { twice: 'id * 2', upper: 'upper(name)' }, filter: 'id % 3 = 0' },
    { filter: 'id < 0' },
  ])('answers %j as the main thread does', async (query) => {
    expect((await onThread(commonWork(), query)).equals(await here(query))).toBe(true);
  });

  it('counts as the main thread does', async () => {
    const predicate = "value > 0.5 AND name LIKE 'row 1%'";
    const count = await commonWork().count(predicate, asVisible(stored.snapshot), ownStatement());
    expect(count).toBe(await countRows(stored.reader, asVisible(stored.snapshot), predicate));
    expect(count).toBeGreaterThan(0n);
  });

  it('does many tasks at once, on several threads', async () => {
    const heavy = heavyWork(2);
    const queries = Array.from({ length: 12 }, (_, at) => ({ ...sorted, k: 10 + at }));
    const answers = await Promise.all(queries.map((query) => onThread(heavy, query)));
    for (const [at, query] of queries.entries()) {
      expect(answers[at]!.equals(await here(query))).toBe(true);
    }
  });

  it('passes refusals on, also those of a row', async () => {
    const heavy = heavyWork();
    await expect(onThread(heavy, { filter: 'missing = 1' })).rejects.toMatchObject({
      name: 'CatalogError',
      row: { name: 'TableColumnNotFound' },
      message: expect.stringContaining('missing'),
    });
    await expect(
      onThread(heavy, { filter: 'CAST(name AS int) > 1', ...sorted }),
    ).rejects.toMatchObject({ name: 'CatalogError', row: { name: 'InvalidInput' } });
    expect((await onThread(heavy, sorted)).equals(await here(sorted))).toBe(true);
  });

  it('waits for who reads, and stops when nobody does', async () => {
    const heavy = heavyWork();
    const pieces = await heavy.query(...asked(sorted));
    await pieces.next();
    const other = await onThread(heavy, sorted);
    expect(other.equals(await here(sorted))).toBe(true);
    await pieces.return(undefined);
    expect((await pieces.next()).done).toBe(true);
    const leaving = new AbortController();
    const rest = await heavy.query(...asked(sorted, until(leaving.signal)));
    await rest.next();
    leaving.abort();
    await expect(bytesOf(rest)).rejects.toThrow('the request was aborted');
    await expect(onThread(heavy, sorted, leaving.signal)).rejects.toThrow('aborted');
  });

  it('fails the tasks of a thread that ends, and replaces it', async () => {
    const heavy = heavyWork();
    const pieces = await heavy.query(...asked(sorted));
    const waiting = onThread(heavy, sorted);
    const refused = expect(waiting).rejects.toMatchObject({ row: { name: 'ServiceUnavailable' } });
    await pool.close();
    await refused;
    await expect(bytesOf(pieces)).rejects.toMatchObject({ row: { name: 'ServiceUnavailable' } });
    expect((await onThread(heavy, sorted)).equals(await here(sorted))).toBe(true);
  });
});

describe('a formula on a thread', () => {
  const fields = [
    ...schema.fields,
    new Field('tag', new Dictionary(new Utf8(), new Int32(), 7), true),
    new Field('list', new List(new Field('item', new Int64(), true)), true),
  ];
  const tag = vectorFromArray(['a', null, 'b'], new Dictionary(new Utf8(), new Int32(), 7));
  const rows = batchOf(
    new Schema(fields),
    [
      vectorFromArray([1n, 2n, 3n], new Int64()),
      vectorFromArray(['one', null, 'three'], new Utf8()),
      vectorFromArray([0.5, 1.5, null], new Float64()),
      tag,
      vectorFromArray([[1n], null, [2n, null]], fields[4]!.type),
    ],
    3,
  );

  it.each([
    'upper(name)',
    'repeat(tag, 3)',
    'array_append(list, id)',
    'value * 2',
    "'the same'",
    'now()',
    'struct(id, name)',
  ])('gives the values of %s as the main thread does', async (text) => {
    const heavy = commonWork();
    const formula = bindFormula('columns.x', text, fields, ownStatement());
    const away = await heavy.valuesOf(formula, rows);
    expect(away.toString()).toBe(valuesOf(formula, rows).toString());
    expect(String(away.type)).toBe(String(valuesOf(formula, rows).type));
  });

  it('gives values for a column, and the rows of a predicate', async () => {
    const heavy = commonWork();
    const assigned = assignmentFormula('column "id"', 'length(name)', fields, new Int32());
    expect((await heavy.valuesOf(assigned, rows)).toJSON()).toEqual([3, null, 5]);
    const predicate = predicateFormula('filter', "name > 'p' or tag = 'a'", fields);
    expect([...(await heavy.rowsWhere(predicate, rows))]).toEqual([0, 2]);
  });

  it('ends at the budget of its request, and tells what it spent', async () => {
    const heavy = commonWork();
    const budget = new RequestBudget({ ...defaultBudget, memory: 2 ** 20 });
    const formula = bindFormula(
      'columns.x',
      'repeat(name, id * 1000000)',
      fields,
      ownStatement(budget),
    );
    const refused = await heavy.valuesOf(formula, rows).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(OverBudget);
    expect(refused).toMatchObject({ key: 'memory', limit: 2 ** 20 });
    expect(budget.spent).toBeGreaterThan(0);
    expect(budget.held).toBe(0);
  });

  it.each(['value', 'assigned'])(
    'is under the budget of its request when it is bound as %s',
    (how) => {
      const statement = ownStatement(new RequestBudget({ ...defaultBudget, memory: 2 ** 20 }));
      const text = 'repeat(name, id * 1000000)';
      const formula =
        how === 'value'
          ? bindFormula('x', text, fields, statement)
          : assignmentFormula('x', `length(${text})`, fields, new Int64(), statement);
      expect(() => valuesOf(formula, rows)).toThrow(OverBudget);
    },
  );

  it('ends when the client leaves, in the middle of its work', async () => {
    const heavy = heavyWork();
    let gone: () => void = () => undefined;
    const onDisconnect = (listener: () => void) => {
      gone = listener;
      return () => undefined;
    };
    const budget = new RequestBudget({ ...defaultBudget, time: 3_600_000 }, onDisconnect);
    const leaving = new AbortController();
    const statement = { ...ownStatement(budget), signal: () => leaving.signal };
    const endless = Array.from({ length: 90 }).reduce<string>(
      (sum, _, at) => `${sum} + levenshtein(repeat('ab', 2000), repeat(name, ${at + 500}))`,
      'id',
    );
    const ended = heavy.valuesOf(bindFormula('columns.x', endless, fields, statement), rows);
    const refused = expect(ended).rejects.toThrow('the request was aborted');
    gone();
    leaving.abort();
    await refused;
    // The thread is free again.
    const other = bindFormula('columns.x', 'upper(name)', fields, ownStatement());
    expect((await heavy.valuesOf(other, rows)).toJSON()).toEqual(['ONE', null, 'THREE']);
  });

  it.each(['on a thread', 'here'])(
    'ends a sort at the memory of its request, %s',
    async (where) => {
      const heavy = commonWork();
      const budget = new RequestBudget({ ...defaultBudget, memory: 2 ** 20 });
      const [request, plan] = asked(sorted, ownStatement(budget));
      const run = async () => {
        if (where === 'here') for await (const _ of execute(plan, stored.reader)) continue;
        else await bytesOf(await heavy.query(request, plan));
      };
      const refused = await run().catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(OverBudget);
      expect(refused).toMatchObject({ key: 'memory' });
    },
  );

  it('ends a query at the time of its request', async () => {
    const budget = new RequestBudget({ ...defaultBudget, time: 1 });
    budget.add(2);
    const [, plan] = asked(sorted, ownStatement(budget));
    const rows = execute(plan, stored.reader);
    await expect(rows.next()).rejects.toMatchObject({ key: 'time' });
  });

  it('leaves one thread to others when one subject asks for much', async () => {
    const heavy = heavyWork(1);
    const slow = { ...ownStatement(), owner: 'user:slow' };
    const long = 'levenshtein(repeat(name, 800), reverse(repeat(name, 800)))';
    const ended: string[] = [];
    const much = Array.from({ length: 4 }, async () => {
      await heavy.valuesOf(bindFormula('columns.x', long, fields, slow), rows);
      ended.push('slow');
    });
    const statement = { ...ownStatement(), owner: 'user:other' };
    await heavy.valuesOf(bindFormula('columns.x', 'upper(name)', fields, statement), rows);
    ended.push('other');
    await Promise.all(much);
    expect(pool.threads).toBe(2);
  });
});

describe('heavy work', () => {
  const test = (predicate: string) => predicateOf(asVisible(stored.snapshot), predicate);
  const plan = (query: Query) => planQuery(parseQueryRequest(query), asVisible(stored.snapshot));

  it('is to sort many rows, and to look through more bytes than are light', () => {
    pool = new ThreadPool(1);
    const [strict, easy] = [
      new HeavyWork(pool, new MemoryBudget(0)),
      new HeavyWork(pool, new MemoryBudget(2 ** 30)),
    ];
    expect(strict.isHeavyQuery(plan(sorted))).toBe(true);
    expect(easy.isHeavyQuery(plan(sorted))).toBe(true);
    expect(strict.isHeavyQuery(plan({ filter: 'id = 1' }))).toBe(true);
    expect(easy.isHeavyQuery(plan({ filter: 'id = 1' }))).toBe(false);
    expect(strict.isHeavyCount(stored.snapshot, test("name = 'row 5'"))).toBe(true);
    expect(easy.isHeavyCount(stored.snapshot, test("name = 'row 5'"))).toBe(false);
    const column = new HeavyWork(pool, new MemoryBudget(8 * ROWS));
    expect(column.isHeavyCount(stored.snapshot, test('id % 7 = 1'))).toBe(false);
    expect(column.isHeavyCount(stored.snapshot, test('id % 7 > value'))).toBe(true);
  });

  it('is to evaluate long expressions on many rows, of whatever few bytes', () => {
    pool = new ThreadPool(1);
    const easy = new HeavyWork(pool, new MemoryBudget(2 ** 30));
    const chain = (count: number) =>
      Array.from({ length: count }, (_, at) => `id = ${at} - value`).join(' or ');
    const filters: readonly (readonly [string, boolean])[] = [
      [chain(3), false],
      [chain(3000), true],
      ["name like '%1%'", false],
      [Array(30).fill("name like '%1%2%'").join(' or '), true],
      [Array(30).fill("regexp_like(name, '(1|2)*3')").join(' or '), true],
      [`levenshtein(name, '${'x'.repeat(1000)}') < 3`, true],
    ];
    for (const [filter, isHeavy] of filters) {
      expect(easy.isHeavyQuery(plan({ filter })), filter.slice(0, 60)).toBe(isHeavy);
      expect(easy.isHeavyCount(stored.snapshot, test(filter)), filter.slice(0, 60)).toBe(isHeavy);
    }
    const far = {
      columns: { column_aliases: { far: `levenshtein(name, '${'x'.repeat(1000)}')` } },
      k: ROWS,
    };
    expect(easy.isHeavyQuery(plan(far))).toBe(true);
    expect(easy.isHeavyQuery(plan({ ...far, k: 2 }))).toBe(false);
  });

  it('is never to pass rows on, and nothing where there are no threads', () => {
    pool = new ThreadPool(0);
    const none = new HeavyWork(pool, new MemoryBudget(0));
    expect(none.isHeavyQuery(plan(sorted))).toBe(false);
    expect(none.isHeavyCount(stored.snapshot, test('id % 7 = 1'))).toBe(false);
    expect(new HeavyWork(new ThreadPool(1), new MemoryBudget(0)).isHeavyQuery(plan({}))).toBe(
      false,
    );
  });
});
