import { Int64, Utf8, vectorFromArray } from 'apache-arrow';
import { array, assert, asyncProperty, constant, integer, oneof } from 'fast-check';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EngineOptions } from '../../../../src/engine/engine.ts';
import type { RecordMerge } from '../../../../src/engine/upkeep/jobs/background-compaction.ts';
import { EngineTable, streamOf, type Columns } from '../../../support/engine-table.ts';
import { waitUntil } from '../../../support/eventually.ts';

let table: EngineTable;
const faults: unknown[] = [];

beforeEach(async () => {
  faults.length = 0;
  await open();
});

afterEach(async () => {
  await table.close();
  expect(faults).toEqual([]);
});

async function open(): Promise<void> {
  table = await EngineTable.open();
  table.engine.startWork((error) => faults.push(error));
}

async function reopen(compaction: EngineOptions['compaction']): Promise<void> {
  await table.close();
  table = await EngineTable.open({ ...(compaction && { compaction }) });
  table.engine.startWork((error) => faults.push(error));
}

const rowsOf = (numbers: readonly number[]): Columns => ({
  n: vectorFromArray(numbers.map(BigInt), new Int64()),
  name: vectorFromArray(numbers.map(String), new Utf8()),
});
const insert = (...numbers: readonly number[]) =>
  table.send('insert', { body: streamOf(rowsOf(numbers)) });

async function fragments(): Promise<number> {
  const { stats } = (await table.post('describe')) as { stats: { num_fragments: number } };
  return stats.num_fragments;
}

async function untilMerged(most: number): Promise<void> {
  await waitUntil(async () => (await fragments()) <= most);
}

describe('merging in the background', () => {
  it('leaves a table alone while its fragments are few', async () => {
    await table.create(rowsOf([0]));
    for (let n = 1; n < 31; n++) await insert(n);
    await sleep(50);
    expect(await fragments()).toBe(31);
    expect(await table.post('describe')).toMatchObject({ version: 31 });
  });

  it('merges many small ones as one more version; every version keeps its rows', async () => {
    await table.create(rowsOf([0]));
    for (let n = 1; n < 32; n++) await insert(n);
    await untilMerged(1);
    expect(await table.post('describe')).toMatchObject({ version: 33 });
    const all = { with_row_id: true };
    expect(await table.rows(all)).toEqual(await table.rows({ ...all, version: 32 }));
    await insert(32);
    expect((await table.rows(all)).map((row) => [row['n'], row['_rowid']])).toEqual(
      Array.from({ length: 33 }, (_, n) => [BigInt(n), BigInt(n)]),
    );
  });

  it('merges from the configured number on, or never, and records each merge', async () => {
    const merges: unknown[] = [];
    const record: RecordMerge = async (merge, work) => {
      merges.push({ ...merge, version: await work() });
    };
    await reopen({ fewest: 8, record });
    await table.create(rowsOf([0]));
    for (let n = 1; n < 8; n++) await insert(n);
    await untilMerged(1);
    expect(merges).toEqual([{ path: ['t'], branch: 'main', merged: 8, made: 1, version: 9n }]);
    await reopen({ fewest: null });
    await table.create(rowsOf([0]));
    for (let n = 1; n < 40; n++) await insert(n);
    await sleep(50);
    expect(await fragments()).toBe(40);
  });

  it('leaves the fragments as they are if the merge cannot be recorded', async () => {
    let tries = 0;
    const record: RecordMerge = async () => {
      tries += 1;
      throw new Error('the log is full');
    };
    await reopen({ fewest: 8, record });
    await table.create(rowsOf([0]));
    for (let n = 1; n < 8; n++) await insert(n);
    await waitUntil(async () => faults.length > 0);
    expect(tries).toBeGreaterThan(0);
    expect(await table.files()).toHaveLength(16);
    expect(faults.splice(0)).toEqual([new Error('the log is full')]);
  });

  it('merges those of a branch, and leaves the line that it came from alone', async () => {
    await table.create(rowsOf([0]));
    await table.post('branches/create', { name: 'b' });
    for (let n = 1; n < 32; n++) {
      await table.send('insert?branch=b', { body: streamOf(rowsOf([n])) });
    }
    const version = async (branch: string) =>
      ((await table.post('describe', { branch })) as { version: number }).version;
    await waitUntil(async () => (await version('b')) >= 33);
    expect(await version('main')).toBe(1);
    expect(await table.column('n', { branch: 'b' })).toEqual(
      Array.from({ length: 32 }, (_, n) => BigInt(n)),
    );
  });

  it('never changes what is answered beside writers', async () => {
    const step = oneof(
      { weight: 8, arbitrary: constant('insert' as const) },
      { weight: 1, arbitrary: constant('delete' as const) },
      { weight: 1, arbitrary: constant('update' as const) },
      { weight: 1, arbitrary: constant('add_column' as const) },
    );
    const steps = array(step, { minLength: 70, maxLength: 110 });
    let merged = 0;
    await assert(
      asyncProperty(steps, integer({ min: 1, max: 4 }), async (work, writers) => {
        await table.close();
        await open();
        merged += await agrees(work, writers);
      }),
      { numRuns: 3 },
    );
    expect(merged).toBeGreaterThan(0);
  });
});

type Step = 'insert' | 'delete' | 'update' | 'add_column';

/** Runs steps of several writers and compares with a model; answers how many merges there were. */
async function agrees(work: readonly Step[], writers: number): Promise<number> {
  const model = new Map<number, string>();
  await table.create(rowsOf([0]));
  model.set(0, '0');
  let versions = 1;
  const left = work.map((step, at) => ({ step, at: at + 1 }));
  const write = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      versions += await take(next.step, next.at, model);
    }
  };
  await Promise.all(Array.from({ length: writers }, write));
  const rows = await table.rows({ with_row_id: true });
  expect(new Map(rows.map((row) => [Number(row['n']), row['name']]))).toEqual(model);
  expect(new Set(rows.map((row) => row['_rowid'])).size).toBe(model.size);
  const { version } = (await table.post('describe')) as { version: number };
  for (let each = 1; each <= version; each += 7) await table.rows({ version: each });
  return version - versions;
}

/** Each number belongs to one step, so that the model does not depend on the order of writers. */
async function take(step: Step, at: number, model: Map<number, string>): Promise<number> {
  const [a, b] = [10 * at, 10 * at + 1];
  await again(() => insert(a, b));
  model.set(a, String(a)).set(b, String(b));
  if (step === 'insert') return 1;
  if (step === 'delete') {
    await again(() => table.post('delete', { predicate: `n = ${a}` }));
    model.delete(a);
  } else if (step === 'update') {
    const update = { updates: [['name', "'new'"]], predicate: `n = ${b}` };
    await again(() => table.post('update', update));
    model.set(b, 'new');
  } else {
    const entry = { name: `c${at}`, expression: 'n + 1' };
    await again(() => table.post('add_columns', { new_columns: [entry] }));
  }
  return 2;
}

/** Rows that are written while another writer adds a column are refused, as without any merging. */
async function again(work: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await work();
      return;
    } catch (error) {
      if ((error as { row?: { code: number } }).row?.code !== 14) throw error;
    }
  }
}
