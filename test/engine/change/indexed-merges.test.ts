import {
  Float64,
  Int32,
  Int64,
  TimestampSecond,
  Uint64,
  Utf8,
  vectorFromArray,
  type DataType,
} from 'apache-arrow';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freshEngine, type TestEngine } from '../../support/engine.ts';
import { buildIndex, untilIndexed } from '../../support/indices.ts';
import { streamOf, TableClient } from '../../support/table-client.ts';

/* Two tables get the same rows and the same merges, one of them has indices: they stay the same. */

let engine: TestEngine;
let indexed: TableClient;
let plain: TableClient;
const faults: unknown[] = [];

beforeAll(async () => {
  engine = await freshEngine();
  engine.startWork((error) => faults.push(error));
  indexed = new TableClient(engine, 'indexed');
  plain = new TableClient(engine, 'plain');
  for (const table of [indexed, plain]) {
    await table.send('create', { body: streamOfRows(range(0, 900)) });
    await table.send('insert', { body: streamOfRows(range(900, 300)) });
  }
  for (const [column, index_type] of Object.entries(indices)) {
    const built = await buildIndex(engine.backend, 'indexed', { column, index_type });
    expect(built.status).toBe('SUCCEEDED');
  }
});

afterAll(async () => {
  await engine.close();
  expect(faults).toEqual([]);
});

const indices = { k: 'BTREE', u: 'BTREE', f: 'BTREE', s: 'BITMAP', t: 'BTREE' };

const range = (first: number, count: number) =>
  Array.from({ length: count }, (_, at) => first + at);
const floats = [0, -0, NaN, Infinity, -Infinity, 1e300, 5e-324];
const texts = ['', 'a', 'Z', 'é', '😀', '\ufb01', 'a longer text than twelve bytes'];

/** What a row has by its number: most keys are one row's, some are many rows'. */
const columns: Readonly<Record<string, { type: DataType; of: (row: number) => unknown }>> = {
  k: { type: new Int64(), of: (row) => (row % 13 === 5 ? null : 2n ** 53n + BigInt(row)) },
  u: { type: new Uint64(), of: (row) => 2n ** 64n - 1n - BigInt(row % 700) },
  f: { type: new Float64(), of: (row) => (row % 9 < 7 ? (floats[row % 97] ?? row / 2) : null) },
  s: { type: new Utf8(), of: (row) => (row % 11 === 3 ? null : `${texts[row % 7]}${row % 50}`) },
  t: { type: new TimestampSecond(), of: (row) => 1000 * (row - 600) },
  n: { type: new Int32(), of: (row) => row % 31 },
};

function streamOfRows(rows: readonly number[], n = (row: number) => row % 31): Uint8Array {
  const made = Object.entries(columns).map(([name, { type, of }]) => {
    const values = rows.map((row) => (name === 'n' ? n(row) : of(row)));
    return [name, vectorFromArray(values, type)] as const;
  });
  return streamOf(Object.fromEntries(made));
}

interface Merge {
  readonly on: readonly string[];
  readonly rows: readonly number[];
  readonly n: number;
  readonly update: 'all' | 'greater' | 'none';
  readonly insert: boolean;
  readonly remove: boolean;
}

const merges: fc.Arbitrary<Merge> = fc.record({
  on: fc.constantFrom(['k'], ['u'], ['f'], ['s'], ['t'], ['k', 's'], ['n', 'k'], ['s', 'f', 't']),
  rows: fc.uniqueArray(fc.integer({ min: 0, max: 1500 }), { minLength: 1, maxLength: 12 }),
  n: fc.integer({ min: 0, max: 99 }),
  update: fc.constantFrom('all', 'greater', 'none'),
  insert: fc.boolean(),
  remove: fc.oneof(
    { weight: 9, arbitrary: fc.constant(false) },
    { weight: 1, arbitrary: fc.constant(true) },
  ),
});

async function merged(table: TableClient, { on, rows, n, update, insert, remove }: Merge) {
  const query = new URLSearchParams();
  for (const name of on) query.append('on', name);
  query.set('when_matched_update_all', String(update !== 'none'));
  if (update === 'greater') query.set('when_matched_update_all_filt', 'source.n > target.n');
  query.set('when_not_matched_insert_all', String(insert));
  query.set('when_not_matched_by_source_delete', String(remove));
  if (remove) query.set('when_not_matched_by_source_delete_filt', 'target.n = 30');
  const body = streamOfRows(rows, () => n);
  return table.send(`merge_insert?${String(query)}`, { body }).then(
    ({ json }) => ({ ...Object(json), version: 0, num_attempts: 0 }),
    (error: Error) => error.message,
  );
}

/** All rows, in no order. */
async function rowsOf(table: TableClient): Promise<readonly string[]> {
  const rows = await table.rows();
  return rows.map((row) => Object.values(row).map(shown).join(' | ')).toSorted();
}

const shown = (value: unknown): string => (Object.is(value, -0) ? '-0' : String(value));

const lookups = (): number => engine.readings()?.lookups ?? 0;

async function lookupsOf(merge: Partial<Merge>): Promise<number> {
  const before = lookups();
  const whole = { on: ['k'], rows: [7], n: 1, update: 'all', insert: true, remove: false } as const;
  for (const table of [indexed, plain]) await merged(table, { ...whole, ...merge });
  return lookups() - before;
}

describe('a merge into a table with indices', () => {
  it('looks few keys up, and reads the rows for many', async () => {
    expect(await lookupsOf({ on: ['k'], rows: [7] })).toBeGreaterThan(0);
    expect(await lookupsOf({ on: ['n', 's'], rows: [8, 9] })).toBeGreaterThan(0);
    expect(await lookupsOf({ on: ['n'], rows: [7] })).toBe(0);
    expect(await lookupsOf({ rows: range(0, 200) })).toBe(0);
    expect(await lookupsOf({ remove: true })).toBe(0);
    expect(await lookupsOf({ rows: [5], on: ['k'] })).toBe(0);
    await untilIndexed(engine.backend, 'indexed');
  });

  it('tells keys apart to the last bit', async () => {
    const zero = {
      on: ['f'],
      rows: [1],
      n: 777,
      update: 'all',
      insert: false,
      remove: false,
    } as const;
    expect(await merged(indexed, zero)).toEqual(await merged(plain, zero));
    const found = (await indexed.rows()).filter(({ n }) => n === 777);
    expect(found.length).toBeGreaterThan(0);
    expect(found.every(({ f }) => Object.is(f, -0))).toBe(true);
    expect(await rowsOf(indexed)).toEqual(await rowsOf(plain));
  });

  it('does what it does without them', async () => {
    await fc.assert(
      fc.asyncProperty(merges, async (merge) => {
        expect(await merged(indexed, merge)).toEqual(await merged(plain, merge));
      }),
      { numRuns: 25, endOnFailure: true },
    );
    expect(await rowsOf(indexed)).toEqual(await rowsOf(plain));
  });
});
