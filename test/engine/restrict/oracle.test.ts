import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as fc from 'fast-check';
import type { Restrictions } from '../../../src/protocol/restrictions.ts';
import { casesOf } from '../../support/cases.ts';
import {
  filters,
  masks,
  RestrictedEngine,
  restrictionsOf,
  streamOfRows,
  visibleOfRows,
  type TestMask,
  type TestRow,
} from './restricted-table.ts';

const TABLES = casesOf(6, 40);
const LANCE_TABLES = casesOf(2, 40);
const QUERIES = casesOf(12, 50);
const CHANGES = casesOf(6, 16);

const words = ['blue', 'whale', 'sings', 'far', 'below', 'deep', 'sea'];

const row = (id: number): fc.Arbitrary<TestRow> =>
  fc.record({
    id: fc.constant(BigInt(id)),
    region: fc.constantFrom('eu', 'us', 'asia', null),
    amount: fc.oneof(fc.integer({ min: -60, max: 60 }), fc.constant(null)),
    price: fc.oneof(
      fc.integer({ min: -400, max: 400 }).map((value) => value / 8 + 0.05),
      fc.constant(null),
    ),
    email: fc.constantFrom('ann@x.org', 'bob@y.org', 'a', 'äß', 'a1b2', '', null),
    words: fc.oneof(
      fc.array(fc.constantFrom(...words), { maxLength: 6 }).map((all) => all.join(' ')),
      fc.constant(null),
    ),
    day: fc.oneof(
      fc.integer({ min: 10_000, max: 20_000 }).map((day) => day * 86_400_000),
      fc.constant(null),
    ),
    vec: fc.tuple(fc.integer({ min: -9, max: 9 }), fc.integer({ min: -9, max: 9 })),
  });

const condition = fc.constantFrom(
  'id > 20',
  "region = 'eu'",
  'amount >= 0',
  'amount % 2 = 0 AND id < 70',
  "email LIKE '%o%'",
  "email = 'ann@x.org' OR price > 3",
  'price BETWEEN -5 AND 9',
  "day > DATE '2010-01-01'",
  '_rowoffset < 7',
  '_rowid % 2 = 1',
  '100 / amount > 3',
  'CAST(email AS int) = 1',
  'region IS NULL',
);

const order = fc.record({
  column_name: fc.constantFrom('id', 'amount', 'price', 'email', 'region', 'day', 'words'),
  ascending: fc.boolean(),
  nulls_first: fc.boolean(),
});

const computed = fc.constantFrom(
  { twice: 'amount * 2', who: 'upper(email)' },
  { id: 'id', part: '1000 / amount' },
  { id: 'id', place: '_rowoffset' },
);

const query = fc.record(
  {
    filter: condition,
    prefilter: fc.boolean(),
    columns: fc.oneof(
      fc.subarray(['id', 'region', 'amount', 'price', 'email', 'words', 'day'], { minLength: 1 }),
      computed,
    ),
    order_by: fc.array(order, { minLength: 1, maxLength: 2 }),
    k: fc.integer({ min: 1, max: 30 }),
    offset: fc.integer({ min: 0, max: 12 }),
    with_row_id: fc.boolean(),
  },
  { requiredKeys: [] },
);

const search = fc.oneof(
  fc.constant({ vector: [] }),
  fc.record({
    vector: fc.tuple(fc.integer({ min: -9, max: 9 }), fc.integer({ min: -9, max: 9 })),
    k: fc.integer({ min: 1, max: 20 }),
    fast_search: fc.boolean(),
  }),
  fc.record({
    vector: fc.constant([]),
    full_text_query: fc.constantFrom(...words).map((one) => ({
      string_query: { query: `${one} whale`, columns: ['words'] },
    })),
    k: fc.integer({ min: 1, max: 20 }),
  }),
);

const blank: TestRow = {
  id: 0n,
  region: null,
  amount: null,
  price: 7.5,
  email: null,
  words: 'far sea',
  day: null,
  vec: [0, 0],
};

/** Changes of columns that no row filter reads, so that all rows stay visible. */
const change = fc.oneof(
  fc.record({ predicate: condition }).map((body) => ({ action: 'delete', body, writes: [] })),
  fc
    .record(
      {
        predicate: condition,
        updates: fc.uniqueArray(
          fc.constantFrom(
            ['words', "concat(email, ' sea')"],
            ['words', 'CAST(_rowoffset AS varchar)'],
            ['words', "'it''s deep'"],
            ['price', '2 + 0.125'],
            ['price', 'NULL'],
            ['price', 'amount * 2'],
            ['price', '100 / amount'],
            ['day', "DATE '2001-02-03'"],
          ),
          { minLength: 1, maxLength: 2, selector: ([column]) => column },
        ),
      },
      { requiredKeys: ['updates'] },
    )
    .map((body) => ({ action: 'update', body, writes: body.updates.map(([column]) => column) })),
  // Rows that a bound caller inserts differ from those of a copy in the masked columns.
  fc
    .record({
      ids: fc.uniqueArray(fc.integer({ min: 0, max: 130 }), { minLength: 1, maxLength: 30 }),
      column: fc.constantFrom('words', 'price'),
      removes: fc.boolean(),
    })
    .map(({ ids, column, removes }) => {
      const deletion =
        '&when_not_matched_by_source_delete=true&when_not_matched_by_source_delete_filt=id%20%3E%20100';
      const rows = ids.map((id) => ({ ...blank, id: BigInt(id) }));
      return {
        action: `merge_insert?on=id&when_matched_update_all=true${removes ? deletion : ''}`,
        body: streamOfRows(rows, ['id', column]),
        writes: [column],
      };
    }),
);

const restrictions = fc.record({
  kept: fc.subarray([...filters], { maxLength: 2 }),
  masked: fc
    .subarray([...masks], { maxLength: 4 })
    .map((some) => some.filter(({ column }, at) => firstOf(some, column) === at)),
});

function firstOf(some: readonly TestMask[], name: string): number {
  return some.findIndex(({ column }) => column === name);
}

let tested: RestrictedEngine;
let secret: Uint8Array;

beforeAll(async () => {
  tested = await RestrictedEngine.open({}, (name) => name.startsWith('l'));
  const first = streamOfRows(fc.sample(row(0), 1));
  await tested.send('first', 'create', first, null);
  const hashed = masks.filter(({ as }) => as !== 'hidden' && as.mask === 'sha256');
  await tested.told('first', 'query', { vector: [] }, restrictionsOf([], hashed));
  secret = await tested.secret();
});

afterAll(async () => tested.close());

describe('a restricted table', () => {
  it(`answers as a copy without hidden rows and with masked columns: ${TABLES * QUERIES} queries`, async () => {
    const seeds = fc.sample(fc.integer(), TABLES);
    for (const [at, seed] of seeds.entries()) await compareTable(`t${at}`, `c${at}`, seed);
  });

  it(`does so as a Lance table: ${LANCE_TABLES * QUERIES} queries`, async () => {
    const seeds = fc.sample(fc.integer(), LANCE_TABLES);
    for (const [at, seed] of seeds.entries()) await compareTable(`l${at}`, `d${at}`, seed);
  });
});

async function compareTable(table: string, copy: string, seed: number): Promise<void> {
  const parts = [0, 40, 80].map((from) =>
    Array.from(
      { length: 40 },
      (_, at) => fc.sample(row(from + at), { numRuns: 1, seed: seed + from + at })[0]!,
    ),
  );
  const [{ kept, masked }] = fc.sample(restrictions, { numRuns: 1, seed }) as [
    { kept: (typeof filters)[number][]; masked: TestMask[] },
  ];
  for (const [at, part] of parts.entries()) {
    await tested.send(table, at === 0 ? 'create' : 'insert', streamOfRows(part), null);
  }
  // Some rows are deleted, and some columns have indices.
  await tested.send(table, 'delete', { predicate: 'id % 11 = 5' }, null);
  for (const [column, type] of [
    ['words', 'FTS'],
    ['id', 'BTREE'],
    ['region', 'BITMAP'],
  ] as const) {
    await tested.index(table, column, type);
  }
  const left = parts.flat().filter(({ id }) => id % 11n !== 5n);
  const seen = visibleOfRows(left, { kept, masked, secret });
  await tested.send(copy, 'create', streamOfRows(seen.rows, seen.names), null);
  if (seen.names.includes('words')) {
    await tested.index(copy, 'words', 'FTS');
  }
  const bound = restrictionsOf(kept, masked);
  const [past] = parts as [TestRow[]];
  const pastSeen = visibleOfRows(past, { kept, masked, secret });
  await tested.send(`${copy}p`, 'create', streamOfRows(pastSeen.rows, pastSeen.names), null);
  const isLance = table.startsWith('l');
  const asked = fc
    .sample(fc.tuple(query, search), { numRuns: QUERIES, seed })
    // A text search of a Lance table is refused.
    .filter(([, found]) => !isLance || !('full_text_query' in found));
  await compareQueries(asked, { table, copy, bound, seed });
  await comparePlain(asked, { table, copy: `${copy}p`, bound, seed }, { version: 1 });
  const masksWritten = new Set<string>(masked.map(({ column }) => column));
  const changes = fc
    .sample(change, { numRuns: CHANGES, seed })
    .filter(({ action, body }) => {
      if (!isLance || action === 'delete') return true;
      return 'updates' in body && body.updates.every(isConstant);
    })
    .filter(({ body }) => body instanceof Uint8Array || !JSON.stringify(body).includes('_rowid'))
    .filter(({ writes }) => writes.every((column) => !masksWritten.has(column)));
  for (const { action, body } of changes) {
    const what = JSON.stringify({ seed, bound, action, body });
    expect(await changed(table, action, body, bound), what).toEqual(
      await changed(copy, action, body, null),
    );
  }
  // In the copy changed rows keep their ids, and a text index counts deleted rows: both differ from
  // the numbers and statistics of visible rows.
  const later = asked.filter((each) => !/_?row_?id|full_text/.test(JSON.stringify(each)));
  await compareQueries(later, { table, copy, bound, seed });
  for (const each of [table, copy]) {
    await tested.send(each, 'branches/create', { name: 'dev' }, null);
  }
  for (const { action, body } of changes) {
    const what = JSON.stringify({ seed, bound, action, body });
    const onBranch = `${action}${action.includes('?') ? '&' : '?'}branch=dev`;
    expect(await changed(table, onBranch, body, bound), what).toEqual(
      await changed(copy, onBranch, body, null),
    );
  }
  await comparePlain(later, { table, copy, bound, seed }, { branch: 'dev' });
  await tested.engine.upkeep!.compact([table]);
  const compacted = isLance ? later.filter(isOfValues).map(inTotalOrder) : later;
  await compareQueries(compacted, { table, copy, bound, seed });
}

/** A compaction of a Lance table moves rows: offsets, and the order of rows that compare as equal, differ from the copy's. */
function isOfValues(each: Asked): boolean {
  return !JSON.stringify(each).includes('_rowoffset');
}

function inTotalOrder([plain, found]: Asked): Asked {
  const order = [...(plain.order_by ?? []), { column_name: 'id', ascending: true }];
  return [{ ...plain, order_by: order }, found];
}

/** An update of a Lance table takes the same number or text for all rows. */
function isConstant([column, sql]: readonly string[]): boolean {
  return column !== 'day' && !/amount|email|_rowoffset/.test(sql!);
}

/** What a change answers, without the version. */
async function changed(
  table: string,
  action: string,
  body: object,
  bound: Restrictions | null,
): Promise<unknown> {
  try {
    const { json } = await tested.send(table, action, body, bound);
    // Upkeep may make a version meanwhile.
    return { ...(json as object), version: undefined, num_attempts: undefined };
  } catch (error) {
    const { row, message } = error as { row?: { code: number }; message: string };
    if (row === undefined) throw error;
    return `${row.code} ${message}`;
  }
}

interface Compared {
  readonly table: string;
  readonly copy: string;
  readonly bound: Restrictions;
  readonly seed: number;
}

type Asked = readonly [
  plain: { readonly filter?: string; readonly order_by?: readonly object[] },
  found: object,
];

/** Compares queries without searches of texts at a version or on a branch: the copy has no such index there. */
async function comparePlain(
  asked: readonly Asked[],
  { table, copy, bound, seed }: Compared,
  place: { readonly version?: number; readonly branch?: string },
): Promise<void> {
  const onCopy = 'version' in place ? {} : place;
  for (const [body, found] of asked) {
    if ('full_text_query' in found) continue;
    const what = JSON.stringify({ seed, bound, place, body, found });
    const told = await tested.told(table, 'query', { ...body, ...found, ...place }, bound);
    expect(told, what).toEqual(
      await tested.told(copy, 'query', { ...body, ...found, ...onCopy }, null),
    );
  }
}

async function compareQueries(
  asked: readonly Asked[],
  { table, copy, bound, seed }: Compared,
): Promise<void> {
  for (const [plain, found] of asked) {
    const body = { ...plain, ...found };
    const what = JSON.stringify({ seed, bound, body });
    const told = await tested.told(table, 'query', body, bound);
    expect(told, what).toEqual(await tested.told(copy, 'query', body, null));
    const count = plain.filter === undefined ? {} : { predicate: plain.filter };
    expect(await tested.told(table, 'count_rows', count, bound), what).toEqual(
      await tested.told(copy, 'count_rows', count, null),
    );
  }
}
