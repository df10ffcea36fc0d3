import { join } from 'node:path';
import { Int64, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { purgedKey } from '../../../../src/engine/catalog/records/keys.ts';
import { collect, tableFiles } from '../../../support/dropped.ts';
import { EngineTable, refusalOf, streamOf } from '../../../support/engine-table.ts';
import { ask } from '../../../support/request.ts';
import { keysOf } from '../../../support/stores.ts';

let table: EngineTable;

const rows = (...values: bigint[]) => ({ n: vectorFromArray(values, new Int64()) });
const dropped = () => table.engine.upkeep!.dropped;

beforeEach(async () => {
  table = await EngineTable.open();
  await table.create(rows(1n, 2n), rows(3n));
});

afterEach(async () => table.close());

/** Everything of the store but what comes and goes by itself. */
async function contents(): Promise<readonly (readonly [string, string])[]> {
  const keys = await keysOf(table.engine.store, '');
  const values = await table.engine.store.getMany(keys);
  return keys.map((key, at) => [key, Buffer.from(values[at]!).toString()] as const);
}

describe('a table that is brought back', () => {
  it('is what it was: rows, versions, tags, properties, and goes on from there', async () => {
    const properties = encodeURIComponent(JSON.stringify({ owner: 'us' }));
    await table.send(`create?mode=overwrite&properties=${properties}`, {
      body: streamOf(rows(9n)),
    });
    await table.post('tags/create', { tag: 'v', version: 2 });
    const before = await table.state();
    await table.post('drop');
    expect(await dropped().list()).toMatchObject([{ path: ['t'], kind: 'engine' }]);
    const id = (await dropped().list())[0]!.id;
    expect(await dropped().undrop(['t'])).toMatchObject({ id, path: ['t'] });
    expect(await table.state()).toEqual(before);
    expect(await dropped().list()).toEqual([]);
    expect(await table.column('n', { version: 2 })).toEqual([1n, 2n, 3n]);
    await table.send('insert', { body: streamOf(rows(10n)) });
    expect(await table.column('n')).toEqual([9n, 10n]);
    expect(await collect(table.engine)).toMatchObject({ tables: 0, files: 0, failures: [] });
    expect(await table.column('n', { version: 1 })).toEqual([1n, 2n]);
  });

  it('is the one that was dropped last, or the one that is named', async () => {
    const ids: string[] = [];
    for (const value of [1n, 2n, 3n]) {
      if (value > 1n) await table.create(rows(value));
      await table.post('drop');
      ids.push((await dropped().list())[0]!.id);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    expect(await dropped().undrop(['t'])).toMatchObject({ id: ids[2] });
    expect(await table.column('n')).toEqual([3n]);
    await dropped().undrop(['t'], ids[0], ['older']);
    expect((await dropped().list()).map(({ id }) => id)).toEqual([ids[1]]);
  });

  it('has its branches, which share its files, and loses with a branch what that alone needs', async () => {
    await table.post('branches/create', { name: 'dev' });
    await table.send('insert?branch=dev', { body: streamOf(rows(4n)) });
    await table.post('drop');
    await dropped().undrop(['t']);
    const all = await tableFiles(table.engine.data);
    expect(await collect(table.engine)).toMatchObject({ files: 0, failures: [] });
    expect(await table.column('n', { branch: 'dev' })).toEqual([1n, 2n, 3n, 4n]);
    await table.post('branches/delete', { name: 'dev' });
    expect(await tableFiles(table.engine.data)).toHaveLength(all.length - 2);
    expect((await table.engine.upkeep!.verifier.verify()).findings).toEqual([]);
    expect(await table.column('n')).toEqual([1n, 2n, 3n]);
  });

  it('may get another name, in another namespace', async () => {
    await table.post('drop');
    await table.create(rows(7n));
    expect(await dropped().undrop(['t'], undefined, ['u'])).toMatchObject({ path: ['u'] });
    expect(await table.column('n')).toEqual([7n]);
  });

  it('has its location again, which was kept for it', async () => {
    const location = join(table.engine.data, 'lance', 'mine');
    const headers = { 'x-service-table-location': location };
    await table.post('drop');
    await table.send('create', { body: streamOf(rows(5n)), headers });
    await table.post('drop');
    expect(await refusalOf(table.send('create', { body: streamOf(rows(6n)), headers }))).toContain(
      'is not an empty folder',
    );
    await dropped().undrop(['t']);
    expect(await table.column('n')).toEqual([5n]);
    const inside = { 'x-service-table-location': join(location, 'deeper') };
    await table.post('drop');
    expect(
      await refusalOf(table.send('create', { body: streamOf(rows(6n)), headers: inside })),
    ).toContain('overlaps the location of another table');
  });
});

describe('bringing a table back is refused, and changes nothing,', () => {
  const cases: readonly (readonly [
    string,
    (() => Promise<unknown>) | undefined,
    Parameters<ReturnType<typeof dropped>['undrop']>,
    string,
  ])[] = [
    [
      'when none was dropped',
      undefined,
      [['u']],
      '4 there is no dropped table /u that can be brought back: `arrowgate catalog dropped` lists those that can',
    ],
    [
      'when the id is of none',
      undefined,
      [['t'], 'nobody'],
      '4 there is no dropped table /t with the id "nobody" that can be brought back: `arrowgate catalog dropped` lists those that can',
    ],
    [
      'when the name is taken by a table',
      async () => table.create(rows(1n)),
      [['t']],
      '5 table /t already exists',
    ],
    [
      'when the name is taken by a namespace',
      undefined,
      [['t'], undefined, ['n']],
      '2 the name /n is taken by a namespace',
    ],
    [
      'when the parent is missing',
      undefined,
      [['t'], undefined, ['gone', 't']],
      '1 namespace /gone does not exist',
    ],
    [
      'in the reserved namespace',
      undefined,
      [['t'], undefined, ['system', 't']],
      '13 the namespace "system" is reserved: nothing is created in it',
    ],
    ['at the root', undefined, [['t'], undefined, []], '13 the root cannot be a table'],
    [
      'when its files are gone',
      () => collect(table.engine),
      [['t']],
      '4 there is no dropped table /t that can be brought back: `arrowgate catalog dropped` lists those that can',
    ],
  ];

  it.each(cases)('%s', async (_, prepare, asked, sentence) => {
    await ask(table.engine.backend, 'POST /v1/namespace/n/create');
    await table.post('drop');
    await prepare?.();
    const before = await contents();
    expect(await refusalOf(dropped().undrop(...asked))).toBe(sentence);
    expect(await contents()).toEqual(before);
  });

  it('when its files are being removed', async () => {
    await table.post('drop');
    const id = (await dropped().list())[0]!.id;
    await table.engine.store.commit(
      [],
      [
        { key: `D${id}`, value: null },
        { key: purgedKey(id), value: Buffer.from('someone\n') },
      ],
    );
    expect(await refusalOf(dropped().undrop(['t'], id))).toBe(
      `4 the files of the dropped table /t with the id "${id}" are being removed`,
    );
  });

  it('to all but one of those that ask at once', async () => {
    await table.post('drop');
    const asked = await Promise.allSettled(
      Array.from({ length: 8 }, (_, at) => dropped().undrop(['t'], undefined, [`t${at}`])),
    );
    expect(asked.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });
});

it('either brings a table back whole or not at all while it is collected', async () => {
  for (let round = 0; round < 10; round++) {
    await table.post('drop');
    const [back] = await Promise.allSettled([dropped().undrop(['t']), collect(table.engine)]);
    if (back?.status === 'fulfilled') {
      expect(await table.column('n')).toHaveLength(3);
    } else {
      expect(await tableFiles(table.engine.data)).toEqual([]);
      await table.create(rows(1n, 2n), rows(3n));
    }
  }
});
