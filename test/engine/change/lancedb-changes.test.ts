import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type * as LanceDb from '@lancedb/lancedb';
import type * as Arrow from 'apache-arrow';
import { Float64, Int32, Int64, Utf8, vectorFromArray } from 'apache-arrow';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { freshEngine, type TestEngine } from '../../support/engine.ts';
import { streamOf, TableClient, type Row } from '../../support/table-client.ts';

/*
 * The same changes in LanceDB, in this process, are the judge of what a change does.
 * Two differences are deliberate: a value that a column cannot hold is refused, where
 * LanceDB cuts off a fraction; and every new value is computed from the row as it was,
 * where LanceDB may let one see another.
 */

// LanceDB loads the CommonJS instance of the Arrow package; its values are made with that one.
const require = createRequire(import.meta.url);
const lancedb: typeof LanceDb = require('@lancedb/lancedb');
const arrow: typeof Arrow = require('apache-arrow');

interface Sample {
  readonly id: bigint | null;
  readonly s: string | null;
  readonly f: number | null;
  readonly i: number | null;
}

const start: readonly Sample[] = [
  { id: 1n, s: 'a', f: 1.5, i: 1 },
  { id: 2n, s: 'b', f: null, i: 2 },
  { id: null, s: 'none', f: NaN, i: null },
  { id: 3n, s: null, f: NaN, i: 3 },
  { id: 4n, s: 'd', f: -1, i: 4 },
  { id: 4n, s: 'again', f: 0, i: 5 },
  { id: 6n, s: 'ü', f: 2.5, i: 6 },
];
const judged = new arrow.Schema([
  new arrow.Field('id', new arrow.Int64(), true),
  new arrow.Field('s', new arrow.Utf8(), true),
  new arrow.Field('f', new arrow.Float64(), true),
  new arrow.Field('i', new arrow.Int32(), true),
]);

let folder = '';
let db: LanceDb.Connection;
let judge: LanceDb.Table;
let engine: TestEngine;
let table: TableClient;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'arrowgate-changes-'));
  db = await lancedb.connect(folder);
});

afterAll(async () => rm(folder, { recursive: true }));

beforeEach(async () => {
  engine = await freshEngine();
  table = new TableClient(engine);
  await table.send('create', { body: streamOf(columnsOf(start.slice(0, 3))) });
  await table.send('insert', { body: streamOf(columnsOf(start.slice(3))) });
  await db.dropTable('t').catch(() => undefined);
  judge = await db.createTable('t', theirs(start.slice(0, 3)));
  await judge.add(theirs(start.slice(3)));
});

afterEach(async () => engine.close());

describe('a deletion', () => {
  it.each([
    'id = 1',
    'id > 1 and s is not null',
    'id <> 2',
    'f > 0',
    "not (s = 'a')",
    'i in (1, 4, 9)',
    'id is null or f < 0',
    'id = 99',
    'true',
  ])('by %s deletes what LanceDB deletes', async (predicate) => {
    const before = await judge.version();
    const expected = await judge.delete(predicate);
    const answer = await table.json('delete', { predicate });
    expect(answer).toMatchObject({ num_deleted_rows: expected.numDeletedRows });
    expect(await table.version()).toBe(2 + (await judge.version()) - before);
    await same();
  });
});

describe('an update', () => {
  const updates: readonly (readonly [
    string,
    Readonly<Record<string, string>>,
    string | undefined,
  ])[] = [
    ['all rows', { i: 'i + 1' }, undefined],
    ['several columns', { id: 'id + 10', s: "concat(s, 'x')" }, 'id is not null'],
    ['rows by a predicate with nulls', { s: "'x'" }, 'f > 0'],
    ['no row', { s: "'x'" }, 'id = 99'],
    ['a null', { f: 'NULL' }, 'i > 2'],
    ['texts in capitals', { s: 'upper(s)' }, undefined],
    ['a column of numbers from a text', { i: "'7'" }, 'id = 1'],
    ['a column of texts from numbers', { s: 'i' }, undefined],
    ['floats from whole numbers', { f: 'i * 2' }, 'i is not null'],
  ];

  it.each(updates)('of %s does what LanceDB does', async (_, valuesSql, where) => {
    const options = where === undefined ? { valuesSql } : { valuesSql, where };
    const expected = await judge.update(options);
    const answer = await table.json('update', {
      updates: Object.entries(valuesSql),
      predicate: where ?? null,
    });
    expect(answer).toMatchObject({
      rows_updated: expected.rowsUpdated,
      updated_rows: expected.rowsUpdated,
    });
    await same();
  });
});

describe('a merge', () => {
  const sent: readonly Sample[] = [
    { id: 1n, s: 'A', f: 9, i: 0 },
    { id: 4n, s: 'D', f: null, i: 9 },
    { id: null, s: 'null', f: 1, i: 1 },
    { id: 7n, s: 'new', f: NaN, i: null },
    { id: 7n, s: 'new too', f: 1, i: 2 },
  ];
  type Build = (builder: LanceDb.MergeInsertBuilder) => LanceDb.MergeInsertBuilder;
  const upsert: Build = (builder) => builder.whenMatchedUpdateAll().whenNotMatchedInsertAll();

  const cases: readonly {
    readonly name: string;
    readonly on: readonly (keyof Sample)[];
    readonly query: Readonly<Record<string, string>>;
    readonly build: Build;
    readonly rows?: readonly Partial<Sample>[];
  }[] = [
    {
      name: 'that updates and inserts',
      on: ['id'],
      query: { when_matched_update_all: 'true', when_not_matched_insert_all: 'true' },
      build: upsert,
    },
    {
      name: 'that inserts what is not there',
      on: ['id'],
      query: { when_not_matched_insert_all: 'true' },
      build: (builder) => builder.whenNotMatchedInsertAll(),
    },
    {
      name: 'that only updates',
      on: ['id'],
      query: { when_matched_update_all: 'true' },
      build: (builder) => builder.whenMatchedUpdateAll(),
    },
    {
      name: 'that updates on a condition',
      on: ['id'],
      query: {
        when_matched_update_all: 'true',
        when_matched_update_all_filt: 'source.i > target.i',
        when_not_matched_insert_all: 'true',
      },
      build: (builder) =>
        builder.whenMatchedUpdateAll({ where: 'source.i > target.i' }).whenNotMatchedInsertAll(),
    },
    {
      name: 'that deletes what was not sent',
      on: ['id'],
      query: { when_not_matched_by_source_delete: 'true' },
      build: (builder) => builder.whenNotMatchedBySourceDelete(),
    },
    {
      name: 'that does it all',
      on: ['id'],
      query: {
        when_matched_update_all: 'true',
        when_not_matched_insert_all: 'true',
        when_not_matched_by_source_delete: 'true',
        when_not_matched_by_source_delete_filt: 'f > 1 or i = 3',
      },
      build: (builder) => upsert(builder).whenNotMatchedBySourceDelete({ where: 'f > 1 or i = 3' }),
    },
    {
      name: 'on several columns, of which one is null',
      on: ['id', 's'],
      query: { when_matched_update_all: 'true', when_not_matched_insert_all: 'true' },
      build: upsert,
      rows: [
        { id: 2n, s: 'b', f: 77, i: 77 },
        { id: 3n, s: null, f: 1, i: 1 },
        { id: 4n, s: 'again', f: 3, i: 3 },
      ],
    },
    {
      name: 'on texts',
      on: ['s'],
      query: { when_matched_update_all: 'true', when_not_matched_insert_all: 'true' },
      build: upsert,
      rows: [
        { id: 9n, s: 'ü', f: 1, i: 1 },
        { id: 9n, s: '', f: 1, i: 1 },
        { id: 9n, s: null, f: 1, i: 1 },
      ],
    },
    {
      name: 'on floats, of which NaN is like itself',
      on: ['f'],
      query: { when_matched_update_all: 'true', when_not_matched_insert_all: 'true' },
      build: upsert,
      rows: [
        { id: 9n, s: 'nan', f: NaN, i: 1 },
        { id: 9n, s: 'minus', f: -1, i: 1 },
        { id: 9n, s: 'new', f: 12, i: 1 },
      ],
    },
    {
      name: 'of rows that lack columns',
      on: ['id'],
      query: { when_matched_update_all: 'true', when_not_matched_insert_all: 'true' },
      build: upsert,
      rows: [
        { id: 1n, s: 'part' },
        { id: 8n, s: 'new' },
      ],
    },
    {
      name: 'of rows of which none matches',
      on: ['id'],
      query: { when_matched_update_all: 'true' },
      build: (builder) => builder.whenMatchedUpdateAll(),
      rows: [{ id: 99n, s: 'x', f: 1, i: 1 }],
    },
  ];

  it.each(cases.map((each) => [each.name, each] as const))(
    '%s does what LanceDB does',
    async (_, { on, query, build, rows = sent }) => {
      const builder = build(judge.mergeInsert([...on]));
      const expected = await builder.execute(theirs(rows));
      const parameters = new URLSearchParams(query);
      for (const column of on) parameters.append('on', column);
      const { json } = await table.send(`merge_insert?${String(parameters)}`, {
        body: streamOf(columnsOf(rows)),
      });
      expect(json).toEqual({
        version: 3,
        num_updated_rows: expected.numUpdatedRows,
        num_inserted_rows: expected.numInsertedRows,
        num_deleted_rows: expected.numDeletedRows,
        num_attempts: 1,
        num_rows: expected.numUpdatedRows + expected.numInsertedRows,
      });
      await same();
    },
  );

  it('is refused where LanceDB refuses it: two rows sent for one that is there', async () => {
    const twice = [sent[0]!, { ...sent[0]!, s: 'B' }];
    await expect(upsert(judge.mergeInsert('id')).execute(theirs(twice))).rejects.toThrow(
      'Ambiguous',
    );
    const query = 'on=id&when_matched_update_all=true';
    const refused = table.send(`merge_insert?${query}`, { body: streamOf(columnsOf(twice)) });
    await expect(refused).rejects.toMatchObject({ row: { code: 13 } });
    await same();
  });
});

function columnsOf(rows: readonly Partial<Sample>[]) {
  const names = Object.keys(rows[0]!) as (keyof Sample)[];
  const types = { id: new Int64(), s: new Utf8(), f: new Float64(), i: new Int32() };
  return Object.fromEntries(
    names.map((name) => [
      name,
      vectorFromArray(
        rows.map((row) => row[name] ?? null),
        types[name],
      ),
    ]),
  );
}

function theirs(rows: readonly Partial<Sample>[]) {
  const names = Object.keys(rows[0]!);
  const fields = judged.fields.filter(({ name }) => names.includes(name));
  return lancedb.makeArrowTable(
    rows.map((row) => ({ ...row })),
    {
      schema: new arrow.Schema(fields),
    },
  );
}

async function same(): Promise<void> {
  const theirs = await judge.query().toArray();
  expect(texts(await table.rows())).toEqual(texts(theirs.map((row): Row => row.toJSON())));
}

/** Rows as texts, in an order of their own: a change promises none. */
function texts(rows: readonly Row[]): readonly string[] {
  return rows
    .map(({ id, s, f, i }) =>
      [id, s === null ? null : JSON.stringify(s), f, i].map(String).join(' '),
    )
    .toSorted();
}
