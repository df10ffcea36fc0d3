import * as fc from 'fast-check';
import { filters, masks, streamOfRows, type TestMask, type TestRow } from './restricted-table.ts';

/** Random rows, queries, changes and restrictions of the oracle. */

const words = ['blue', 'whale', 'sings', 'far', 'below', 'deep', 'sea'];

export const row = (id: number): fc.Arbitrary<TestRow> =>
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

export const query = fc.record(
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

export const search = fc.oneof(
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
export const change = fc.oneof(
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

export const restrictions = fc.record({
  kept: fc.subarray([...filters], { maxLength: 2 }),
  masked: fc
    .subarray([...masks], { maxLength: 4 })
    .map((some) => some.filter(({ column }, at) => firstOf(some, column) === at)),
});

function firstOf(some: readonly TestMask[], name: string): number {
  return some.findIndex(({ column }) => column === name);
}
