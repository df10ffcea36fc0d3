import { asVisible } from '../../../../src/engine/query/scan/visible-snapshot.ts';
import {
  Bool,
  Dictionary,
  Field,
  Float64,
  Int32,
  Int64,
  LargeUtf8,
  List,
  Schema,
  Struct,
  Utf8,
  vectorFromArray,
  type DataType,
  type RecordBatch,
} from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { batchOf } from '../../../../src/arrow/select.ts';
import { answerSizes, rowsAnswer } from '../../../../src/engine/query/plan/answer.ts';
import { execute } from '../../../../src/engine/query/execute.ts';
import { planQuery } from '../../../../src/engine/query/plan/plan.ts';
import { parseQueryRequest } from '../../../../src/engine/request/request.ts';
import type { JsonValue } from '../../../../src/protocol/json.ts';
import { bytesOf, lengthOf, madeAnswer } from '../../../support/query-answer.ts';
import { storeTable, type StoredTable } from '../../../support/stored-table.ts';
import { vectorsOf, vectorType } from '../../../support/vector-column.ts';

/* How long an answer will be is known before it is sent, or nothing is said of it. */

const LARGE = 8192;

const types: Readonly<Record<string, readonly [DataType, (row: number) => unknown]>> = {
  id: [new Int64(), (row) => BigInt(row)],
  holes: [new Float64(), (row) => (row % 3 === 0 ? null : row)],
  flag: [new Bool(), (row) => (row % 7 === 0 ? null : row % 2 === 0)],
  name: [new Utf8(), (row) => (row % 5 === 0 ? null : `row ${row}`)],
  long: [new LargeUtf8(), (row) => 'x'.repeat(row % 9)],
  list: [
    new List(new Field('item', new Int32(), true)),
    (row) => (row % 4 === 0 ? null : Array.from({ length: row % 4 }, () => row)),
  ],
  pair: [
    new Struct<Record<string, DataType>>([
      new Field('a', new Int32(), true),
      new Field('b', new Utf8(), true),
    ]),
    (row) => (row % 6 === 0 ? null : { a: row, b: row % 2 === 0 ? null : String(row) }),
  ],
  word: [new Dictionary(new Utf8(), new Int32()), (row) => `word ${row % 10}`],
};

const schema = new Schema([
  ...Object.entries(types).map(([name, [type]]) => new Field(name, type, true)),
  new Field('vec', vectorType(3), true),
]);

function batch(first: number, rows: number): RecordBatch {
  const numbers = Array.from({ length: rows }, (_, at) => first + at);
  const columns = Object.values(types).map(([type, value]) =>
    vectorFromArray(numbers.map(value), type),
  );
  const vectors = vectorsOf(
    3,
    numbers.map((row) => [row, row + 1, row + 2]),
  );
  return batchOf(schema, [...columns, vectors], rows);
}

const PLAIN = ['id', 'holes', 'flag', 'name', 'long', 'list', 'pair', 'vec'];

let large: StoredTable;
let small: StoredTable;

beforeAll(async () => {
  large = await storeTable(schema, [[batch(0, LARGE), batch(LARGE, 9001)], [batch(20_000, 17)]]);
  small = await storeTable(schema, [[batch(0, 10)], [batch(10, 10)]]);
});

afterAll(async () => {
  await large.remove();
  await small.remove();
});

/** What an answer announces, and how long it is. */
async function lengths(
  table: Pick<StoredTable, 'snapshot' | 'reader'>,
  body: Record<string, JsonValue>,
): Promise<{ readonly announced: number | undefined; readonly is: number }> {
  const answer = await madeAnswer(table, body);
  return { announced: lengthOf(answer.body), is: (await bytesOf(answer.body)).length };
}

describe('an answer of stored batches', () => {
  it.each([
    ...PLAIN.map((name) => ({ columns: [name] })),
    { columns: PLAIN },
    { columns: ['vec', 'name', 'id'] },
  ])('announces its length: $columns', async ({ columns }) => {
    const { announced, is } = await lengths(large, { columns });
    expect(announced).toBe(is);
  });

  it('announces it under a limit that leaves nothing out', async () => {
    const { announced, is } = await lengths(large, { columns: PLAIN, k: 1_000_000 });
    expect(announced).toBe(is);
  });

  it('announces it of the batches that a filter is known to keep', async () => {
    const { announced, is } = await lengths(large, { columns: ['id'], filter: 'id >= 20000' });
    expect(announced).toBe(is);
  });
});

const NEAREST = { vector: { single_vector: [1, 2, 3] }, vector_column: 'vec' };

describe('a small answer, which is made at once', () => {
  it.each<readonly [string, Record<string, JsonValue>]>([
    ['of the nearest', { ...NEAREST, k: 3 }],
    ['of rows that are judged', { columns: PLAIN, filter: 'holes in (5, 7, 9001)' }],
    ['of rows that a limit cuts', { columns: PLAIN, k: 90 }],
    ['without rows', { columns: PLAIN, filter: 'id < 0' }],
  ])('announces its length %s', async (_, body) => {
    const { announced, is } = await lengths(large, body);
    expect(announced).toBe(is);
  });

  it('announces its length of small batches, which are joined', async () => {
    const { announced, is } = await lengths(small, { columns: ['id'] });
    expect(announced).toBe(is);
  });
});

describe('no length is announced', () => {
  it.each<readonly [string, Record<string, JsonValue>]>([
    ['of a dictionary, which is made anew', { columns: ['id', 'word'] }],
    ['of rows that are judged', { columns: ['id'], filter: 'holes > 5' }],
    ['of rows that a limit cuts', { columns: ['id'], k: 9000 }],
    ['of rows after an offset', { columns: ['id'], offset: 1 }],
    ['of rows in order', { columns: ['id'], order_by: [{ column_name: 'id', ascending: false }] }],
    ['of row ids', { columns: ['id'], with_row_id: true }],
    ['of what is computed', { columns: { column_aliases: { twice: 'id * 2' } } }],
    ['of a field of a column', { columns: ['pair.a'] }],
    ['of many of the nearest', { ...NEAREST, k: 2000 }],
  ])('%s', async (_, body) => {
    expect((await lengths(large, body)).announced).toBeUndefined();
  });

  it('of columns that some rows lack', async () => {
    const wider = new Schema([...schema.fields, new Field('new', new Int32(), true)]);
    const snapshot = {
      ...large.snapshot,
      schema: wider,
      fieldIds: [...large.snapshot.fieldIds, 1000],
    };
    const table = { ...large, snapshot };
    expect((await lengths(table, { columns: ['id', 'new'] })).announced).toBeUndefined();
    expect((await lengths(table, { columns: ['id'] })).announced).toBeGreaterThan(0);
  });

  it('of fragments with deleted rows', async () => {
    const fragments = large.snapshot.fragments.map((each) => ({ ...each, deletions: 'some' }));
    const snapshot = { ...large.snapshot, fragments };
    const plan = planQuery(parseQueryRequest({ columns: ['id'] }), asVisible(snapshot));
    expect(await answerSizes(plan, large.reader)).toBeNull();
  });

  it('where the first batch is not what was expected', async () => {
    const plan = planQuery(parseQueryRequest({ columns: ['id'] }), asVisible(large.snapshot));
    const [first = 0, ...rest] = (await answerSizes(plan, large.reader)) ?? [];
    const answer = await rowsAnswer({
      schema: plan.schema,
      batches: execute(plan, large.reader),
      version: 1n,
      signal: new AbortController().signal,
      sizes: [first + 64, ...rest],
    });
    expect(lengthOf(answer.body)).toBeUndefined();
    await bytesOf(answer.body);
  });

  it('once more when a later batch is not what was expected', async () => {
    const plan = planQuery(parseQueryRequest({ columns: ['id'] }), asVisible(large.snapshot));
    const [first = 0, second = 0, ...rest] = (await answerSizes(plan, large.reader)) ?? [];
    let misjudged = 0;
    const { body } = await rowsAnswer({
      schema: plan.schema,
      batches: execute(plan, large.reader),
      version: 1n,
      signal: new AbortController().signal,
      sizes: [first, second + 64, ...rest],
      misjudged: () => misjudged++,
    });
    expect(lengthOf(body)).toBe((await bytesOf(body)).length + 64);
    expect(misjudged).toBe(1);
  });
});
