import { afterEach, describe, expect, it } from 'vitest';
import { setRows, storedPlaces } from '../../../src/engine/query/restrict/row-verdicts.ts';
import type { Restrictions } from '../../../src/protocol/restrictions.ts';
import { eventually } from '../../support/eventually.ts';
import { RestrictedEngine, streamOfRows, type TestRow } from './restricted-table.ts';

let tested: RestrictedEngine | undefined;

afterEach(async () => tested?.close());

const row = (id: number, region: string): TestRow => ({
  id: BigInt(id),
  region,
  amount: id,
  price: null,
  email: null,
  words: null,
  day: null,
  vec: [0, 0],
});

const seeing = (sql: string): Restrictions => ({
  names: ['own'],
  rows: [{ restriction: 'own', sql }],
  columns: [],
});

describe('which rows of a version are visible', () => {
  it('is remembered for a filter and a version, and for no other', async () => {
    tested = await RestrictedEngine.open();
    const rows = [row(1, 'eu'), row(2, 'us'), row(3, 'eu')];
    await tested.send('t', 'create', streamOfRows(rows), null);
    const count = (sql: string, more: object = {}) =>
      tested!.told('t', 'count_rows', more, seeing(sql));
    for (let time = 0; time < 3; time++) {
      expect(await count("region = 'eu'")).toEqual({ count: 2 });
      expect(await count("region = 'us'")).toEqual({ count: 1 });
      expect(await count("region = 'eu'", { predicate: 'id > 1' })).toEqual({ count: 1 });
    }
    await tested.send('t', 'insert', streamOfRows([row(4, 'eu')]), null);
    expect(await count("region = 'eu'")).toEqual({ count: 3 });
    await tested.send('t', 'delete', { predicate: 'id = 1' }, null);
    expect(await count("region = 'eu'")).toEqual({ count: 2 });
    expect(await count("region = 'eu'", { version: 1 })).toEqual({ count: 2 });
    expect(await count("region = 'eu'", { version: 2 })).toEqual({ count: 3 });
  });

  it('is judged for each request where the filter reads the clock', async () => {
    tested = await RestrictedEngine.open();
    await tested.send('t', 'create', streamOfRows([row(1, 'eu')]), null);
    const before = `now() < TIMESTAMP '${new Date(Date.now() + 2000).toISOString().slice(0, 23)}'`;
    const count = () => tested!.told('t', 'count_rows', {}, seeing(before));
    await count();
    await eventually(async () => expect(await count()).toEqual({ count: 0 }));
  });

  it('gives the rows of windows and lists of any size', async () => {
    tested = await RestrictedEngine.open();
    const rows = Array.from({ length: 100 }, (_, id) => row(id, id % 3 === 0 ? 'eu' : 'us'));
    await tested.send('t', 'create', streamOfRows(rows), null);
    const seen = rows.filter(({ region }) => region === 'eu').map(({ id }) => id);
    for (const [k, offset] of [
      [1, 0],
      [5, 3],
      [34, 0],
      [20, 30],
    ] as const) {
      const body = { vector: [], k, offset, columns: ['id'] };
      const told = await tested.told('t', 'query', body, seeing("region = 'eu'"));
      expect(told).toEqual({ rows: seen.slice(offset, offset + k).map((id) => ({ id })) });
    }
  });
});

describe('positions of visible rows', () => {
  it('are those of the set bits, all of them or some', () => {
    const bits = Uint8Array.from([0b1000_0001, 0, 0b0001_0110, 0b1111_1111]);
    const all = [0, 7, 17, 18, 20, 24, 25, 26, 27, 28, 29, 30, 31];
    expect([...setRows(bits, all.length)]).toEqual(all);
    expect([...storedPlaces(bits, Uint32Array.from([0, 2, 3, 12]))]).toEqual([0, 17, 18, 31]);
    expect([...storedPlaces(bits, Uint32Array.from([1]))]).toEqual([7]);
    expect([...storedPlaces(bits, new Uint32Array(0))]).toEqual([]);
  });
});
