import { asVisible } from '../../../src/engine/query/scan/visible-snapshot.ts';
import {
  Bool,
  Field,
  Float64,
  Int32,
  Int64,
  Schema,
  Utf8,
  vectorFromArray,
  type RecordBatch,
} from 'apache-arrow';
import * as fc from 'fast-check';
import { afterEach, expect, it, vi } from 'vitest';
import { batchOf } from '../../../src/arrow/select.ts';
import { writeDeletions } from '../../../src/engine/format/deletion-file.ts';
import type { Snapshot } from '../../../src/engine/format/snapshot.ts';
import type { BatchSource } from '../../../src/engine/query/scan/batch-source.ts';
import { defaultBudget, RequestBudget } from '../../../src/protocol/budget.ts';
import { execute } from '../../../src/engine/query/execute.ts';
import { planQuery } from '../../../src/engine/query/plan/plan.ts';
import { parseQueryRequest } from '../../../src/engine/request/request.ts';
import { ownStatement } from '../../../src/engine/base/statement.ts';
import type { JsonValue } from '../../../src/protocol/json.ts';
import { Flushes } from '../../../src/storage/flushes.ts';
import { casesOf } from '../../support/cases.ts';
import { answerOf, rowsOf } from '../../support/query-answer.ts';
import { storeTable, type StoredTable } from '../../support/stored-table.ts';

/* A sort with a small limit answers the rows of the whole sort. */

const schema = new Schema([
  new Field('id', new Int64(), false),
  new Field('n', new Int32(), true),
  new Field('f', new Float64(), true),
  new Field('word', new Utf8(), true),
  new Field('yes', new Bool(), true),
]);

interface Row {
  readonly n: number | null;
  readonly f: number | null;
  readonly word: string | null;
  readonly yes: boolean | null;
}

function batchOfRows(rows: readonly Row[], first: number): RecordBatch {
  const columns = [
    vectorFromArray(
      rows.map((_, at) => BigInt(first + at)),
      new Int64(),
    ),
    vectorFromArray(
      rows.map(({ n }) => n),
      new Int32(),
    ),
    vectorFromArray(
      rows.map(({ f }) => f),
      new Float64(),
    ),
    vectorFromArray(
      rows.map(({ word }) => word),
      new Utf8(),
    ),
    vectorFromArray(
      rows.map(({ yes }) => yes),
      new Bool(),
    ),
  ];
  return batchOf(schema, columns, rows.length);
}

let stored: StoredTable | undefined;

afterEach(async () => {
  await stored?.remove();
  stored = undefined;
});

/** Stores files of batches of rows; ids count from 0. */
async function store(files: readonly (readonly (readonly Row[])[])[]): Promise<StoredTable> {
  let first = 0;
  const batches = files.map((file) =>
    file.map((rows) => {
      const batch = batchOfRows(rows, first);
      first += rows.length;
      return batch;
    }),
  );
  await stored?.remove();
  stored = await storeTable(schema, batches);
  return stored;
}

async function without(snapshot: Snapshot, gone: readonly Uint32Array[]): Promise<Snapshot> {
  const files = await writeDeletions(
    snapshot,
    gone.filter((rows) => rows.length > 0),
    new Flushes(),
  );
  let next = 0;
  const fragments = snapshot.fragments.map((fragment, at) => {
    const { length } = gone[at]!;
    if (length === 0) return fragment;
    const { path, seal } = files[next++]!;
    const rows = fragment.physicalRows - length;
    return { ...fragment, rows, deletions: path, deletionsSeal: seal };
  });
  const rows = fragments.reduce((sum, fragment) => sum + BigInt(fragment.rows), 0n);
  return { ...snapshot, fragments, rows };
}

/* Repeated rows fill the kept ones several times over, so that worse ones are dropped. */
const rowsOfBatch = fc
  .tuple(
    fc.array(
      fc.record<Row>({
        n: fc.option(fc.integer({ min: -4, max: 4 })),
        f: fc.option(fc.constantFrom(NaN, 0, -0, 1.5, -2, Infinity, -Infinity)),
        word: fc.option(
          fc.constantFrom('', 'a', 'a\0', 'longer than 8', 'longer than 9', 'é', '𝄞'),
        ),
        yes: fc.option(fc.boolean()),
      }),
      { minLength: 1, maxLength: 12 },
    ),
    fc.constantFrom(1, 700, 700),
    fc.boolean(),
  )
  .map(([rows, times, shift]) =>
    Array.from({ length: times }, (_, round) =>
      rows.map((row) => (shift && row.n !== null ? { ...row, n: row.n + (round % 50) - 25 } : row)),
    ).flat(),
  );

const tables = fc.array(fc.array(rowsOfBatch, { minLength: 1, maxLength: 3 }), {
  minLength: 1,
  maxLength: 4,
});

const orders = fc.array(
  fc.record({
    column_name: fc.constantFrom('n', 'f', 'word', 'yes', 'id', '_rowid', '_rowoffset'),
    ascending: fc.boolean(),
    nulls_first: fc.boolean(),
  }),
  { minLength: 1, maxLength: 3 },
);

const filters = fc.constantFrom(undefined, 'n > 0', 'word is not null', '10 / (n + 100) >= 0');

async function ids(
  table: { snapshot: Snapshot; reader: BatchSource },
  body: Record<string, JsonValue>,
): Promise<readonly unknown[]> {
  return rowsOf(await answerOf(table, { columns: ['id'], ...body })).map(({ id }) => id);
}

it('answers the rows of the whole sort, in its order', async () => {
  await fc.assert(
    fc.asyncProperty(
      tables,
      orders,
      filters,
      fc.integer({ min: 1, max: 30 }),
      fc.nat(40),
      fc.integer({ min: 2, max: 9 }),
      async (files, order_by, filter, k, offset, every) => {
        const { snapshot, reader } = await store(files);
        const gone = snapshot.fragments.map(({ physicalRows }, at) =>
          Uint32Array.from({ length: physicalRows }, (_, row) => row).filter(
            (row) => every < 6 && (row + at) % every === 1,
          ),
        );
        const table = { snapshot: await without(snapshot, gone), reader };
        const body = { order_by, ...(filter === undefined ? {} : { filter }) };
        const whole = await ids(table, { ...body, k: 10_000_000 });
        expect(await ids(table, { ...body, k, offset })).toEqual(whole.slice(offset, offset + k));
      },
    ),
    { numRuns: casesOf(60, 1000) },
  );
});

const row: Row = { n: 0, f: 0, word: '', yes: true };

/** Ten files in which n rises. */
function rising(rows: number): readonly (readonly (readonly Row[])[])[] {
  return Array.from({ length: 10 }, (_, file) => [
    Array.from({ length: rows }, (_, at) => ({ ...row, n: file * rows + at })),
  ]);
}

/** A source that lists the fragments that are scanned. */
function watched(table: StoredTable, scanned: number[]): BatchSource {
  const { reader, snapshot } = table;
  return new Proxy(reader, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return (...args: Parameters<BatchSource['batches']>): unknown => {
        if (name === 'batches') scanned.push(snapshot.fragments.indexOf(args[1]));
        return Reflect.apply(member, target, args);
      };
    },
  });
}

it.each([
  [true, [0n, 1n, 2n], 0],
  [false, [49_999n, 49_998n, 49_997n], 9],
])('leaves out files that hold no better row (ascending %s)', async (ascending, expected, only) => {
  const table = await store(rising(5000));
  const scanned: number[] = [];
  const body = { order_by: [{ column_name: 'n', ascending }], k: 3 };
  const source = { snapshot: table.snapshot, reader: watched(table, scanned) };
  expect(await ids(source, body)).toEqual(expected);
  // The answered rows are read behind the scan.
  expect(scanned[0]).toBe(only);
  expect(new Set(scanned).size).toBeLessThanOrEqual(2);
});

it('takes equal rows in the order of the table, whatever file is read first', async () => {
  const same = Array.from({ length: 5000 }, () => row);
  const table = await store([[same], [[{ ...row, n: -1 }, ...same]]]);
  const order_by = [{ column_name: 'n', ascending: true }];
  expect(await ids(table, { order_by, k: 4 })).toEqual([5000n, 0n, 1n, 2n]);
});

it('fails on a row of a file that could be left out', async () => {
  const table = await store(rising(5000));
  const order_by = [{ column_name: 'n', ascending: true }];
  const failing = ids(table, { order_by, k: 3, filter: '1 / (n - 49999) <= 0' });
  await expect(failing).rejects.toThrow(/zero/);
});

it('charges the kept rows only, and needs no file for them', async () => {
  const { snapshot, reader } = await store(rising(30_000));
  const files = vi.spyOn(snapshot.storage, 'temporary');
  const read = async (k: number): Promise<number> => {
    const budget = new RequestBudget({ ...defaultBudget, memory: 4 * 2 ** 20 });
    const body = { order_by: [{ column_name: 'n', ascending: false }], k };
    const plan = planQuery(parseQueryRequest(body), asVisible(snapshot), ownStatement(budget));
    let rows = 0;
    for await (const batch of execute(plan, reader)) rows += batch.numRows;
    return rows;
  };
  expect(await read(10)).toBe(10);
  expect(files).not.toHaveBeenCalled();
  expect(await read(200_000)).toBe(200_000);
  expect(files).toHaveBeenCalled();
});
