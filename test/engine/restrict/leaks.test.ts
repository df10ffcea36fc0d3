import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tableFromIPC } from 'apache-arrow';
import type { Restrictions } from '../../../src/protocol/restrictions.ts';
import { bytesOf, rowsOf } from '../../support/query-answer.ts';
import { RestrictedEngine, streamOfRows, type TestRow } from './restricted-table.ts';

/**
 * Two tables that differ in hidden rows, in the values behind masks and in a hidden column. A bound
 * caller gets the same answer from both, whatever it tries: rows, counts, plans and errors.
 */

const own: Restrictions = {
  names: ['own'],
  rows: [{ restriction: 'own', sql: "region = 'eu'" }],
  columns: [
    { restriction: 'own', column: 'email', as: { mask: 'first', n: 1 } },
    { restriction: 'own', column: 'day', as: { mask: 'year' } },
    { restriction: 'own', column: 'price', as: 'hidden' },
  ],
};

const DAY = 86_400_000;

/** @param world 0 or 1. */
function visible(id: number, world: number): TestRow {
  return {
    id: BigInt(2 * id),
    region: 'eu',
    amount: id + 1,
    price: world === 0 ? id / 2 : 1000 - id,
    email: world === 0 ? `a${id % 10}@x.org` : `a${(7 * id) % 10}@y.net`,
    words: id % 3 === 0 ? 'blue whale' : 'far below',
    day: (world + 1) * DAY,
    vec: [id, 1],
  };
}

function hidden(id: number, world: number): TestRow {
  return {
    id: BigInt(2 * id + 1),
    region: id % 2 === 0 ? 'us' : null,
    amount: world === 0 ? 5 : 0,
    price: world === 0 ? 0 : null,
    email: world === 0 ? 'secret@x.org' : null,
    words: world === 0 ? 'whale whale whale' : 'unheard of',
    day: world === 0 ? null : 4000 * DAY,
    vec: world === 0 ? [1e6, 1e6] : [id, 1],
  };
}

const names = ['table_one', 'table_two'] as const;
let tested: RestrictedEngine;

/** Hidden rows stand between the others; in one table are more of them. */
async function made(world: 0 | 1): Promise<void> {
  const name = names[world];
  const part = (from: number) =>
    Array.from({ length: 10 }, (_, at) => [
      visible(from + at, world),
      ...(world === 0 && at % 3 > 0 ? [] : [hidden(from + at, world)]),
    ]).flat();
  await tested.send(name, 'create', streamOfRows(part(0)), null);
  await tested.send(name, 'insert', streamOfRows(part(10)), null);
  await tested.send(name, 'delete', { predicate: 'id % 10 = 4 OR id = 9' }, null);
  await tested.send(name, 'tags/create', { tag: 'old', version: 2 }, null);
  for (const [column, type] of [
    ['words', 'FTS'],
    ['id', 'BTREE'],
    ['region', 'BITMAP'],
    ['email', 'BTREE'],
  ] as const) {
    await tested.index(name, column, type);
  }
}

beforeAll(async () => {
  tested = await RestrictedEngine.open();
  await made(0);
  await made(1);
});

afterAll(async () => tested.close());

interface Attempt {
  readonly action: string;
  readonly body: object | Uint8Array;
}

const predicates = [
  '100 / amount > 0',
  'CAST(words AS int) > 0',
  "CAST(CASE WHEN region = 'us' THEN 'x' ELSE '1' END AS int) = 1",
  "CASE WHEN region = 'us' THEN 1 / 0 > 0 ELSE true END",
  'CASE WHEN region IS NULL THEN 1 / 0 > 0 ELSE id > 3 END',
  "CASE WHEN email LIKE 'a0%' THEN 1 / 0 > 0 ELSE true END",
  "CASE WHEN email LIKE '%@x.org' THEN id < 9 ELSE id > 9 END",
  '1 / (length(email) - 8) >= 0',
  "email = 'a1@x.org'",
  "email IN ('secret@x.org', 'a1@x.org', 'a******')",
  "email < 'a5'",
  'email IS NULL',
  "regexp_like(email, '[0-9]')",
  'price > 3',
  'price IS NULL',
  "region = 'us'",
  "region <> 'eu' OR region IS NULL",
  'id % 2 = 1',
  'id = 9',
  'id IN (1, 2, 3, 4)',
  'id BETWEEN 5 AND 15 AND amount > 0',
  'id > 38',
  '_rowid = 3',
  '_rowid > 15',
  '_rowoffset < 4',
  "day > DATE '1975-01-01'",
  "day = DATE '1970-01-02'",
  "words LIKE '%unheard%'",
  'amount = 0',
  'amount / 0 = 1',
  'nothing = 1',
  'id +',
];

const columns = ['id', 'region', 'amount', 'price', 'email', 'words', 'day', '_rowid'];

const query = (body: object): Attempt => ({ action: 'query', body: { vector: [], ...body } });
const text = (words: string, more: object = {}) => ({
  full_text_query: { string_query: { query: words, columns: ['words'] } },
  ...more,
});

const reads: readonly Attempt[] = [
  ...predicates.flatMap((filter): readonly Attempt[] => [
    query({ filter }),
    query({ filter, columns: ['id'], k: 2, offset: 1 }),
    query({ columns: { x: filter } }),
    query({ filter, vector: [3, 1], k: 3 }),
    query({ filter, vector: [3, 1], k: 3, prefilter: false }),
    query({ filter, ...text('whale'), k: 4 }),
    { action: 'count_rows', body: { predicate: filter } },
    { action: 'explain_plan', body: { query: { vector: [], filter }, verbose: true } },
    { action: 'analyze_plan', body: { vector: [], filter } },
  ]),
  ...columns.flatMap((column_name): readonly Attempt[] => [
    ...[true, false].flatMap((ascending) => [
      query({ order_by: [{ column_name, ascending }], columns: ['id'] }),
      query({ order_by: [{ column_name, ascending, nulls_first: true }], k: 3, offset: 2 }),
    ]),
    query({ columns: [column_name] }),
    query({ columns: { x: `CAST(${column_name} AS varchar)`, y: `${column_name} IS NULL` } }),
  ]),
  ...[0, 1, 5, 16, 17, 1000].flatMap((offset): readonly Attempt[] => [
    query({ offset }),
    query({ offset, k: 4, with_row_id: true }),
    query({ vector: [1e6, 1e6], k: offset + 1 }),
    query({ vector: [4, 1], k: offset + 1, fast_search: true, distance_type: 'cosine' }),
  ]),
  ...['whale', 'unheard', 'blue whale', 'nothing', 'far'].flatMap((words): readonly Attempt[] => [
    query({ ...text(words), k: 20 }),
    query({ ...text(words), k: 2, fast_search: true }),
    query({ ...text(words), k: 20, prefilter: false, filter: 'id > 5' }),
  ]),
  ...[1, 2, 3, 99].flatMap((version): readonly Attempt[] => [
    query({ version }),
    { action: 'count_rows', body: { version } },
    { action: 'describe', body: { version } },
    { action: 'stats', body: { version } },
  ]),
  ...['old', 'none'].map((tag): Attempt => query({ tag })),
  { action: 'describe', body: { load_detailed_metadata: true } },
  { action: 'describe', body: { with_table_uri: true } },
  { action: 'describe', body: { vend_credentials: true } },
  { action: 'index/list', body: {} },
  { action: 'index/words_idx/stats', body: {} },
  { action: 'version/list', body: {} },
  { action: 'tags/list', body: {} },
  { action: 'tags/version', body: { tag: 'old' } },
  { action: 'branches/list', body: {} },
  { action: 'clone', body: {} },
  { action: 'restore', body: { version: 1 } },
];

const updates = (column: string, expression: string, predicate?: string): Attempt => ({
  action: 'update',
  body: { updates: [[column, expression]], ...(predicate !== undefined && { predicate }) },
});

const some = visible(77, 0);

const merged = 'merge_insert?on=id&when_matched_update_all=true';

/** They change both tables in the same way, as far as the caller sees. */
const changes: readonly Attempt[] = [
  ...predicates.map((predicate) => updates('words', "'seen'", predicate)),
  updates('amount', '100 / amount'),
  updates('words', 'email'),
  updates('words', 'CAST(day AS varchar)'),
  updates('words', 'CAST(price AS varchar)'),
  updates('amount', 'CAST(_rowid AS int)', 'id > 20'),
  updates('email', "'x'"),
  updates('price', '1'),
  updates('region', "'us'"),
  updates('region', "CASE WHEN id > 3 THEN 'eu' ELSE 'us' END"),
  { action: 'insert', body: streamOfRows([some], ['id', 'region']) },
  { action: 'insert', body: streamOfRows([{ ...some, region: 'us' }], ['id', 'region']) },
  { action: 'insert', body: streamOfRows([some], ['id', 'region', 'price']) },
  { action: 'insert', body: streamOfRows([some], ['id', 'region', 'email']) },
  { action: 'insert?mode=overwrite', body: streamOfRows([some]) },
  { action: 'merge_insert?on=id&when_matched_update_all=true', body: streamOfRows([some]) },
  ...[merged, `${merged}&when_not_matched_insert_all=true`].map((query): Attempt => {
    const keys = [5n, 6n, 9n, 14n, 500n].map((id) => ({ ...some, id }));
    return { action: query, body: streamOfRows(keys, ['id', 'region', 'amount']) };
  }),
  ...predicates.map((predicate): Attempt => ({ action: 'delete', body: { predicate } })),
];

/** An answer without what differs by chance: the name of the table, times, and what upkeep does meanwhile. */
async function told(world: 0 | 1, { action, body }: Attempt): Promise<string> {
  const name = names[world];
  try {
    const answer = await tested.send(name, action, body, own);
    const plain =
      action === 'query' ? rowsOf(tableFromIPC(await bytesOf(answer.body))) : answer.json;
    return neutral(name, plain);
  } catch (error) {
    const { row, message } = error as { row?: { code: number }; message: string };
    if (row === undefined) throw error;
    return neutral(name, `${row.code} ${message}`);
  }
}

function neutral(name: string, answer: unknown): string {
  const json = JSON.stringify(answer, (_, value: unknown) =>
    typeof value === 'bigint' ? `${value}n` : value,
  );
  return json
    .replaceAll(name, 'T')
    .replaceAll(/[\d.]+ ms/g, 'ms')
    .replaceAll(/(version|num_attempts)(":| )\d+/g, '$1');
}

describe('a bound caller', () => {
  it(`learns nothing of hidden rows and values by ${reads.length} reads`, async () => {
    for (const attempt of reads) {
      expect(await told(0, attempt), JSON.stringify(attempt)).toBe(await told(1, attempt));
    }
  });

  it(`learns nothing by ${changes.length} changes, and leaves what is hidden as it was`, async () => {
    const kept = (world: 0 | 1) =>
      tested.told(
        names[world],
        'query',
        { vector: [], filter: "region <> 'eu' OR region IS NULL" },
        null,
      );
    const before = [await kept(0), await kept(1)];
    for (const attempt of changes) {
      expect(await told(0, attempt), JSON.stringify(attempt)).toBe(await told(1, attempt));
      const all = query({});
      expect(await told(0, all), JSON.stringify(attempt)).toBe(await told(1, all));
    }
    expect([await kept(0), await kept(1)]).toEqual(before);
  });

  it('is told apart from an administrator, who sees the difference', async () => {
    const counts = await Promise.all(
      names.map((name) => tested.told(name, 'count_rows', {}, null)),
    );
    expect(counts[0]).not.toEqual(counts[1]);
  });
});
