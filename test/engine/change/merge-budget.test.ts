import { Int64, Utf8, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { defaultBudget, RequestBudget, type BudgetLimits } from '../../../src/protocol/budget.ts';
import { EngineTable, streamOf } from '../../support/engine-table.ts';
import { ask } from '../../support/request.ts';

const ROWS = 40_000;
const UPSERT = 'when_matched_update_all=true&when_not_matched_insert_all=true';
const RAISE = `${UPSERT}&when_matched_update_all_filt=${encodeURIComponent('source.name > target.name')}`;

let table: EngineTable;

beforeEach(async () => {
  table = await EngineTable.open();
  await table.create(columns('old'));
});

afterEach(() => table.close());

function columns(name: string) {
  const ids = Array.from({ length: ROWS }, (_, row) => BigInt(row));
  return {
    n: vectorFromArray(ids, new Int64()),
    name: vectorFromArray(
      ids.map((id) => `${name}${id}`),
      new Utf8(),
    ),
  };
}

/** Merges under a budget, and gives what is still held of it and what came of it. */
async function merged(condition: string, limits: Partial<BudgetLimits>) {
  const budget = new RequestBudget({ ...defaultBudget, ...limits });
  const line = `POST /v1/table/t/merge_insert?on=n&${condition}`;
  const body = streamOf(columns('new'));
  const made = await ask(table.engine.backend, line, { body, budget }).catch(
    (error: unknown) => error,
  );
  return { made, held: budget.held };
}

it.each([
  ['rows that are put in', UPSERT],
  ['columns that a condition reads', RAISE],
])(
  'a merge whose keys and rows pass the memory is refused and changes nothing: %s',
  async (_, condition) => {
    // The body alone takes less.
    const { made, held } = await merged(condition, { memory: 2_500_000 });
    expect(made).toMatchObject({
      row: { code: 13 },
      message: expect.stringContaining('(budget.memory)') as string,
    });
    expect(held).toBe(0);
    expect((await table.column('name'))[0]).toBe('old0');
  },
);

it('a merge within its budget gives back what it held', async () => {
  const { made, held } = await merged(UPSERT, {});
  expect(made).toMatchObject({ status: 200 });
  expect(held).toBe(0);
  expect((await table.column('name'))[0]).toBe('new0');
});

it('a merge whose matching passes the time is refused and changes nothing', async () => {
  const { made, held } = await merged(UPSERT, { time: 0 });
  expect(made).toMatchObject({
    row: { code: 13 },
    message: expect.stringContaining('(budget.time)') as string,
  });
  expect(held).toBe(0);
  expect((await table.column('name'))[0]).toBe('old0');
});
