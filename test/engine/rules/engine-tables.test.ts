import { Float64, Int64, Utf8, vectorFromArray } from 'apache-arrow';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { EngineTable, refusalOf, streamOf, type Columns } from '../../support/engine-table.ts';
import { Rulebook } from '../../support/ruled-engine.ts';

/** Every demand that a rule can make, on the tables that the engine writes. */

const rules = new Rulebook();
let table: EngineTable;
let now = Date.UTC(2026, 10, 20, 12, 0);

beforeAll(async () => {
  table = await EngineTable.open({ rules, clock: () => now });
});

afterAll(() => table.close());

beforeEach(async () => {
  rules.clear();
  now = Date.UTC(2026, 10, 20, 12, 0);
  await table.send('create?mode=overwrite', { body: streamOf(rowsOf([1, 2, 3])) });
});

function rowsOf(ids: readonly (number | null)[], prices = ids.map(() => 1)): Columns {
  return {
    id: vectorFromArray(
      ids.map((id) => (id === null ? null : BigInt(id))),
      new Int64(),
    ),
    price: vectorFromArray(prices, new Float64()),
    name: vectorFromArray(
      ids.map((id) => `n${id}`),
      new Utf8(),
    ),
  };
}

const insert = (ids: readonly (number | null)[], prices?: number[]) => ({
  action: 'insert',
  sent: { body: streamOf(rowsOf(ids, prices)) },
});
const overwrite = { action: 'insert?mode=overwrite', sent: { body: streamOf(rowsOf([9])) } };
const recreate = { action: 'create?mode=overwrite', sent: { body: streamOf(rowsOf([9])) } };
const merge = (ids: readonly number[], prices?: number[]) => ({
  action: 'merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true',
  sent: { body: streamOf(rowsOf(ids, prices)) },
});
const json = (action: string, body: object = {}) => ({ action, sent: { body } });
const remove = json('delete', { predicate: 'id = 1' });
const update = (price: string) =>
  json('update', { updates: [['price', price]], predicate: 'id = 1' });
const addColumn = json('add_columns', {
  new_columns: [{ name: 'double', expression: 'price * 2' }],
});
const dropColumn = json('drop_columns', { columns: ['name'] });
const restore = json('restore', { version: 1 });
const drop = json('drop');
const deregister = json('deregister');

type Step = ReturnType<typeof json>;

/** What a demand lets in, and what it refuses, with the end of the sentence. */
const demands: readonly {
  readonly demand: string;
  readonly passes: readonly Step[];
  readonly refuses: readonly (readonly [Step, string])[];
}[] = [
  {
    demand: 'append_only: true',
    passes: [insert([4]), merge([5]), addColumn],
    refuses: [
      [remove, 'it removes 1 row of a table that only gets more'],
      [update('2.0'), 'it changes 1 row of a table that only gets more'],
      [merge([1, 7]), 'it changes 1 row of a table that only gets more'],
      [overwrite, 'the table may only be appended to, not overwritten'],
      [recreate, 'the table may only be appended to, not overwritten'],
      [restore, 'the table may only be appended to, not restored to an older version'],
      [drop, 'the table may only be appended to, not dropped'],
      [deregister, 'the table may only be appended to, not deregistered'],
      [dropColumn, 'it changes 3 rows of a table that only gets more'],
    ],
  },
  {
    demand: 'schema: additive',
    passes: [insert([4]), addColumn, overwrite],
    refuses: [
      [dropColumn, 'the column "name" would be gone'],
      [
        json('alter_columns', { alterations: [{ path: 'id', rename: 'key' }] }),
        'the column "id" would be gone',
      ],
      [
        json('alter_columns', { alterations: [{ path: 'price', data_type: { type: 'float' } }] }),
        'the column "price" would become float32 instead of float64',
      ],
    ],
  },
  {
    demand: 'schema: locked',
    passes: [insert([4]), remove, json('schema_metadata/update', { owner: 'ann' })],
    refuses: [
      [addColumn, 'the column "double" would be added, and the schema is locked'],
      [dropColumn, 'the column "name" would be gone, and the schema is locked'],
    ],
  },
  {
    demand: 'columns: [{ name: id, type: int64 }, { name: name, type: utf8, nullable: true }]',
    passes: [insert([4]), addColumn, json('drop_columns', { columns: ['price'] })],
    refuses: [[dropColumn, 'the table would have no column "name"']],
  },
  {
    demand: 'columns: [{ name: price, type: float32 }]',
    passes: [],
    refuses: [[insert([4]), 'the column "price" would be of type float64, not float32']],
  },
  {
    demand: 'check: "price >= 0"',
    passes: [insert([4]), merge([1, 8], [3, 4]), update('5.0'), remove, addColumn],
    refuses: [
      [insert([4, 5], [1, -5]), 'the check "price >= 0" is not true of a row with price = -5'],
      [merge([1], [-2]), 'the check "price >= 0" is not true of a row with price = -2'],
      [update('-1.0'), 'the check "price >= 0" is not true of a row with price = -1'],
      [update('NULL'), 'the check "price >= 0" is not true of a row with price = null'],
      [
        { action: 'create?mode=overwrite', sent: { body: streamOf(rowsOf([1], [-3])) } },
        'the check "price >= 0" is not true of a row with price = -3',
      ],
      [
        json('drop_columns', { columns: ['price'] }),
        'the check "price >= 0" does not fit the table: expected the name of a column, found price; the nearest are id, name, at position 1',
      ],
    ],
  },
  {
    demand: 'unique: [id]',
    passes: [insert([4, 5]), insert([null, null]), merge([1, 9]), update('7.0'), remove],
    refuses: [
      [insert([4, 4]), 'several rows would have id = 4, and no two may'],
      [insert([8, 2]), 'several rows would have id = 2, and no two may'],
      [
        json('update', { updates: [['id', '3']], predicate: 'id = 1' }),
        'several rows would have id = 3, and no two may',
      ],
    ],
  },
  {
    demand: 'unique: [id, name]',
    passes: [insert([4])],
    refuses: [[insert([2]), 'several rows would have id = 2 and name = "n2", and no two may']],
  },
  {
    demand: 'max_rows: 2',
    passes: [insert([4, 5]), update('2.0')],
    refuses: [
      [insert([4, 5, 6]), 'it adds 3 rows, and at most 2 may be added'],
      [merge([1, 7, 8, 9]), 'it adds 3 rows, and at most 2 may be added'],
    ],
  },
  {
    demand: 'max_removed_share: 0.5',
    passes: [remove, json('update', { updates: [['price', '1.0']] }), insert([4])],
    refuses: [
      [
        json('delete', { predicate: 'id < 3' }),
        'it removes 2 of 3 rows, and at most a share of 0.5 may be removed',
      ],
      [overwrite, 'it removes 3 of 3 rows, and at most a share of 0.5 may be removed'],
      [drop, 'it removes 3 of 3 rows, and at most a share of 0.5 may be removed'],
    ],
  },
  {
    demand: 'no_drop: true',
    passes: [insert([4]), remove, restore],
    refuses: [
      [drop, 'the table may not be dropped'],
      [deregister, 'the table may not be deregistered'],
      [overwrite, 'the table may not be overwritten'],
      [recreate, 'the table may not be overwritten'],
    ],
  },
  {
    demand: 'protected_tags: [gold], protected_branches: [main]',
    passes: [insert([4])],
    refuses: [[restore, 'the branch "main" is protected']],
  },
  {
    demand: 'locations: [/srv/lake]',
    passes: [drop],
    refuses: [],
  },
  {
    demand: 'context: [ticket]',
    passes: [json('delete', { predicate: 'id = 1', context: { ticket: '7' } })],
    refuses: [
      [remove, 'the request\'s context has no "ticket"'],
      [insert([4]), 'the request\'s context has no "ticket"'],
    ],
  },
  {
    demand: 'freeze: [{ days: fri, from: "11:00", to: "13:00" }]',
    passes: [],
    refuses: [
      [
        insert([4]),
        'it is 2026-11-20T12:00:00.000Z, and nothing is committed from 11:00 to 13:00 UTC on fri',
      ],
      [
        drop,
        'it is 2026-11-20T12:00:00.000Z, and nothing is committed from 11:00 to 13:00 UTC on fri',
      ],
    ],
  },
];

describe.each(demands)('$demand', ({ demand, passes, refuses }) => {
  it('lets in what it is not about', async () => {
    for (const { action, sent } of passes) {
      rules.demand(demand);
      const { status, commit } = await table.send(action, sent);
      expect([action, status < 300, commit?.rules]).toEqual([action, true, ['demand']]);
      rules.clear();
      await table.send('create?mode=overwrite', { body: streamOf(rowsOf([1, 2, 3])) });
    }
  });

  it('refuses the rest, and then nothing is changed', async () => {
    for (const [{ action, sent }, sentence] of refuses) {
      rules.demand(demand);
      const before = await table.state();
      const refusal = await refusalOf(table.send(action, sent));
      expect(refusal).toBe(`20 the commit rule demand refuses this of /t: ${sentence}`);
      expect(await table.state()).toEqual(before);
    }
  });
});
