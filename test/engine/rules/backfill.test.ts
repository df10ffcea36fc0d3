import { Int64, vectorFromArray } from 'apache-arrow';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { EngineTable, refusalOf } from '../../support/engine-table.ts';
import { jobIdOf, settled } from '../../support/jobs.ts';
import { Rulebook } from '../../support/ruled-engine.ts';

/** A column that is filled in the background: nobody waits for it, and rules hold all the same. */

const rules = new Rulebook();
const faults: unknown[] = [];
let table: EngineTable;

beforeAll(async () => {
  table = await EngineTable.open({ rules });
  await table.create(
    { n: vectorFromArray([1n, 2n], new Int64()) },
    { n: vectorFromArray([9n], new Int64()) },
  );
  await table.post('add_columns', { new_columns: [{ name: 'twice', computed: 'n * 2' }] });
  table.engine.startWork((error) => faults.push(error));
});

afterAll(async () => {
  await table.close();
  expect(faults).toEqual([]);
});

beforeEach(() => rules.clear());

const begun = () => table.post('backfill_column', { column: 'twice' });
const filled = async () => settled(table.engine.backend, jobIdOf(await begun()));
const says = (fault: string) => `the commit rule demand refuses this of /t: ${fault}`;
const always =
  '{ days: [mon, tue, wed, thu, fri, sat, sun], from: "00:00", to: "24:00", zone: UTC }';

describe('a backfill under a rule', () => {
  it.each([
    ['append_only: true', /the table may only be appended to, not filled$/],
    ['context: [ticket]', /the request's context has no "ticket"$/],
    [`freeze: [${always}]`, /and nothing is committed from 00:00 to 24:00 UTC/],
  ])('is not begun where it cannot end well: %s', async (require, fault) => {
    rules.demand(require);
    const before = await table.state();
    expect(await refusalOf(begun())).toMatch(fault);
    expect(await table.state()).toEqual(before);
  });

  it.each([
    ['check: "twice < 10"', 'the check "twice < 10" is not true of a row with twice = 18'],
    ['columns: [{ name: more, type: int64 }]', 'the table would have no column "more"'],
  ])('fails, and changes nothing, by %s', async (require, fault) => {
    rules.demand(require);
    const before = await table.rows();
    const { version } = (await table.post('describe')) as { version: number };
    expect(await filled()).toMatchObject({
      job_state: 'FAILED',
      failure: { code: 20, message: says(fault), retryable: false },
    });
    expect(await table.rows()).toEqual(before);
    expect(await table.post('describe')).toMatchObject({ version });
  });

  it('that came into force after it was asked for fails all the same', async () => {
    rules.demand('context: [ticket]', 'mode: warn');
    expect(await filled()).toMatchObject({ job_state: 'DONE' });
    rules.demand('check: "twice is null"', 'except: ["user:tester"]');
    expect(await filled()).toMatchObject({ job_state: 'FAILED', failure: { code: 20 } });
  });

  it.each(['unique: [twice]', 'max_rows: 0', 'max_removed_share: 0', 'schema: locked'])(
    'is done where it breaks none: %s',
    async (require) => {
      rules.demand(require);
      expect(await filled()).toMatchObject({ job_state: 'DONE', result: { rows_done: 3 } });
    },
  );
});
