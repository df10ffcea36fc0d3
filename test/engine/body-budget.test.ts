import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Int64, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BodyMeter, RequestMemory } from '../../src/engine/format/memory/request-memory.ts';
import { defaultBudget, RequestBudget, type BudgetLimits } from '../../src/protocol/budget.ts';
import { nulls, zeros } from '../attacks/arrow-bombs.ts';
import { EngineTable } from '../support/engine-table.ts';
import { ask } from '../support/request.ts';

let table: EngineTable;

beforeEach(async () => {
  table = await EngineTable.open();
  await table.create({ n: vectorFromArray([1n, 2n], new Int64()) });
});

afterEach(() => table.close());

/** The files of all tables. */
async function files(): Promise<readonly string[]> {
  const root = join(table.engine.data, 'tables');
  const all = await readdir(root, { recursive: true });
  return all.filter((name) => name.endsWith('.arrow')).sort();
}

const OTHER = 'POST /v1/table/other/create';
const actions = [
  'create?mode=overwrite',
  'insert',
  'insert?mode=overwrite',
  'merge_insert?on=n&when_matched_update_all=true&when_not_matched_insert_all=true',
  '../other/create',
];

/** What a body is refused with, on each way that rows come in; checks that nothing has changed. */
async function refusals(body: Uint8Array, limits: Partial<BudgetLimits>): Promise<Set<string>> {
  const before = await files();
  const sentences = new Set<string>();
  for (const action of actions) {
    const budget = new RequestBudget({ ...defaultBudget, ...limits });
    const { backend } = table.engine;
    const line = action.startsWith('..') ? OTHER : `POST /v1/table/t/${action}`;
    const error = await ask(backend, line, { body, budget }).catch((caught: unknown) => caught);
    expect(error, line).toMatchObject({ row: { code: 13 } });
    sentences.add((error as Error).message);
    expect(budget.held, line).toBe(0);
  }
  expect(await files()).toEqual(before);
  expect(await table.column('n')).toEqual([1n, 2n]);
  return sentences;
}

describe('a body that becomes too much is refused on every way in, and changes nothing', () => {
  it('by its rows', async () => {
    expect(await refusals(await zeros('lz4', 3, 40), { rows: 100 })).toEqual(
      new Set(['The request adds more than 100 rows (budget.rows): send them in parts']),
    );
  });

  it.each(['lz4', 'zstd'] as const)('by its bytes after %s', async (codec) => {
    const [sentence] = await refusals(await zeros(codec, 3, 40_000), { decompressed: 700_000 });
    expect(sentence).toMatch(/\(budget\.decompressed\)/);
  });

  it.each(['lz4', 'zstd'] as const)('by the memory of one batch of %s', async (codec) => {
    const [sentence] = await refusals(await zeros(codec, 1, 40_000), { memory: 300_000 });
    expect(sentence).toMatch(/\(budget\.memory\)/);
  });
});

describe('rows that take no bytes', () => {
  it('are bounded in all batches of a body together', async () => {
    const body = nulls(3, 2 ** 19);
    const made = await ask(table.engine.backend, OTHER, { body }).catch((error: unknown) => error);
    expect(made).toMatchObject({
      row: { code: 13 },
      message: expect.stringMatching(/^A batch declares 524288 rows, \d+ are allowed/) as string,
    });
  });
});

describe('the memory of all requests', () => {
  const budget = () => new RequestBudget({ ...defaultBudget, memory: 100 * 2 ** 20 });

  it('is waited for, in turn', async () => {
    const memory = new RequestMemory(10 * 2 ** 20);
    const [one, two] = [new BodyMeter(memory, budget()), new BodyMeter(memory, budget())];
    expect(one.hold(8 * 2 ** 20)).toBeUndefined();
    const waiting = two.hold(4 * 2 ** 20);
    expect(waiting).toBeInstanceOf(Promise);
    one.close();
    await waiting;
    expect(memory.held).toBe(4 * 2 ** 20);
    two.close();
    expect(memory.held).toBe(0);
  });

  it('is refused when others go on holding it, and small requests have theirs', async () => {
    const memory = new RequestMemory(10 * 2 ** 20, 10);
    const [one, two] = [new BodyMeter(memory, budget()), new BodyMeter(memory, budget())];
    expect(one.hold(10 * 2 ** 20)).toBeUndefined();
    await expect(two.hold(2 ** 21)).rejects.toMatchObject({
      row: { code: 17 },
      message: expect.stringContaining('(budget.memory)') as string,
      retryAfter: '5',
    });
    expect(two.hold(1000)).toBeUndefined();
    two.close();
    one.close();
    expect(memory.held).toBe(0);
  });
});
