import { Int64, tableFromIPC, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Engine } from '../../../../src/engine/engine.ts';
import { KnownTables, type KnownTable } from '../../../../src/engine/handlers/call/known-tables.ts';
import { MAIN_CHAIN } from '../../../../src/engine/format/chain.ts';
import type { ReadCheck, StoreWatch } from '../../../../src/store/store.ts';
import { freshEngine, openOther, type TestEngine } from '../../../support/engine.ts';
import { refusalOf } from '../../../support/catalog.ts';
import { bytesOf } from '../../../support/query-answer.ts';
import { ask } from '../../../support/request.ts';
import { streamOf } from '../../../support/table-client.ts';

const PATH = ['n', 't'];

function stored(key: string, bytes = 3): KnownTable['table'] {
  const content = { kind: 'engine' } as KnownTable['table']['content'];
  return { key, value: new Uint8Array(bytes), content };
}

function knownTable(bytes?: number): KnownTable {
  const record = stored('H', bytes) as unknown as KnownTable['record'];
  return { table: stored('T'), chain: MAIN_CHAIN, record };
}

describe('the records of a known table', () => {
  let held: ReturnType<StoreWatch['holds']>;
  let watched: (readonly ReadCheck[])[];
  const store = {
    watch: (seen: readonly ReadCheck[]): StoreWatch => {
      watched.push(seen);
      return { holds: () => held };
    },
  };

  beforeEach(() => {
    held = true;
    watched = [];
  });

  it('are found by path and branch while all of them are unchanged', () => {
    const tables = new KnownTables(store);
    const known = knownTable();
    expect(tables.find(PATH, 'main')).toBeUndefined();
    tables.keep(PATH, 'main', known);
    expect(watched.map((seen) => seen.map((one) => one.kind === 'value' && one.key))).toEqual([
      ['T', 'H'],
    ]);
    expect(tables.find(PATH, 'main')).toBe(known);
    expect(tables.find(PATH, 'b')).toBeUndefined();
    expect(tables.find(['n'], 't')).toBeUndefined();
    held = false;
    expect(tables.find(PATH, 'main')).toBeUndefined();
    // They are forgotten: what was there before may be another table.
    held = true;
    expect(tables.find(PATH, 'main')).toBeUndefined();
  });

  it('have the checks of their branch among those that are watched', () => {
    const check: ReadCheck = { kind: 'value', key: 'B', value: Uint8Array.of(1) };
    const tables = new KnownTables(store);
    tables.keep(PATH, 'b', { ...knownTable(), chain: { ...MAIN_CHAIN, checks: [check] } });
    expect(watched[0]).toContain(check);
  });

  it('have to be read where the store cannot tell at once', async () => {
    const tables = new KnownTables(store);
    tables.keep(PATH, 'main', knownTable());
    for (const unsure of [undefined, Promise.resolve(true), Promise.reject(new Error('away'))]) {
      held = unsure;
      expect(tables.find(PATH, 'main')).toBeUndefined();
    }
    held = true;
    expect(tables.find(PATH, 'main')).toBeDefined();
    const failing = new KnownTables({
      watch: () => ({
        holds: () => {
          throw new Error('away');
        },
      }),
    });
    failing.keep(PATH, 'main', knownTable());
    expect(failing.find(PATH, 'main')).toBeUndefined();
    const without = new KnownTables({});
    without.keep(PATH, 'main', knownTable());
    expect(without.find(PATH, 'main')).toBeUndefined();
  });

  it('are kept within a bound of bytes', () => {
    const tables = new KnownTables(store, 10_000);
    const found = () =>
      [...Array(20).keys()].filter((at) => tables.find([`t${at}`], 'main') !== undefined);
    for (let at = 0; at < 20; at++) tables.keep([`t${at}`], 'main', knownTable());
    expect(found().length).toBeGreaterThan(5);
    expect(found().length).toBeLessThan(10);
    expect(found().at(-1)).toBe(19);
    tables.keep(['large'], 'main', knownTable(6_000));
    expect(tables.find(['large'], 'main')).toBeUndefined();
  });
});

describe('reads of tables that another process changes', () => {
  let engine: TestEngine;
  let other: Engine;

  beforeEach(async () => {
    engine = await freshEngine();
    other = await openOther(engine);
    await ask(engine.backend, 'POST /v1/namespace/n/create');
    await ask(engine.backend, 'POST /v1/table/n$t/create', rows(1n, 2n));
  });

  afterEach(async () => {
    await other.close();
    await engine.close();
  });

  const rows = (...k: bigint[]) => ({ body: streamOf({ k: vectorFromArray(k, new Int64()) }) });

  /** Keys above 0 as a query and a count of this process find them, each asked twice. */
  async function read(body: object = {}): Promise<readonly string[]> {
    const found: string[] = [];
    for (let time = 0; time < 2; time++) {
      const query = { body: { ...body, filter: 'k > 0' } };
      const answer = await ask(engine.backend, 'POST /v1/table/n$t/query', query);
      found.push([...tableFromIPC(await bytesOf(answer.body)).getChild('k')!].join());
      const count = { body: { ...body, predicate: 'k > 0' } };
      const { body: counted } = await ask(engine.backend, 'POST /v1/table/n$t/count_rows', count);
      found.push(typeof counted === 'string' ? counted : 'no number');
    }
    return found;
  }

  it('have the newest rows, tables and branches', async () => {
    expect(await read()).toEqual(['1,2', '2', '1,2', '2']);
    await ask(other.backend, 'POST /v1/table/n$t/insert', rows(3n));
    expect(await read()).toEqual(['1,2,3', '3', '1,2,3', '3']);
    expect(await read({ version: 1 })).toEqual(['1,2', '2', '1,2', '2']);
    await ask(other.backend, 'POST /v1/table/n$t/branches/create', {
      body: { name: 'b', from_version: 1 },
    });
    expect(await read({ branch: 'b' })).toEqual(['1,2', '2', '1,2', '2']);
    await ask(other.backend, 'POST /v1/table/n$t/branches/delete', { body: { name: 'b' } });
    expect(await refusalOf(read({ branch: 'b' }))).toMatch(/TableBranchNotFound/);
    await ask(other.backend, 'POST /v1/table/n$t/drop');
    expect(await refusalOf(read())).toMatch(/TableNotFound/);
    await ask(other.backend, 'POST /v1/table/n$t/create', rows(7n));
    expect(await read()).toEqual(['7', '1', '7', '1']);
  });
});
