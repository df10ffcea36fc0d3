import { join } from 'node:path';
import { connect, type Connection, type Table } from '@lancedb/lancedb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { refusalOf } from '../../support/engine-table.ts';
import { freshEngine, type TestEngine } from '../../support/engine.ts';
import { ask } from '../../support/request.ts';
import { Rulebook } from '../../support/ruled-engine.ts';

/** What LanceDB itself wrote without the catalog, judged when it is registered again. */

let rules: Rulebook;
let engine: TestEngine;
let db: Connection;
let main: Table;

beforeEach(async () => {
  rules = new Rulebook();
  engine = await freshEngine({ rules });
  db = await connect(join(engine.data, 'allowed'));
  main = await db.createTable('set', [{ id: 1 }, { id: 2 }, { id: 3 }]);
  await register();
});

afterEach(() => engine.close());

const post = (action: string, body: object = {}) =>
  ask(engine.backend, `POST /v1/table/t/${action}`, { body });
const register = (mode = 'create') =>
  post('register', { location: join(engine.data, 'allowed', 'set.lance'), mode });
const again = () => register('overwrite');
const branch = (name: string) => db.openTable('set', undefined, { branch: name });
const says = (fault: string) => `20 the commit rule demand refuses this of /t: ${fault}`;

describe('branches of LanceDB', () => {
  it('pass where they add rows, indices and columns, and are compacted', async () => {
    rules.demand('append_only: true, schema: additive, max_rows: 2');
    await (await main.branches()).create('dev');
    const dev = await branch('dev');
    await dev.add([{ id: 4 }]);
    await dev.add([{ id: 5 }, { id: 6 }]);
    await dev.createIndex('id');
    await dev.optimize();
    await dev.addColumns([{ name: 'double', valueSql: 'id * 2' }]);
    await (await dev.branches()).create('child', 'dev');
    await (await branch('child')).add([{ id: 7, double: 14 }]);
    expect((await again()).commit?.rules).toEqual(['demand']);
    const { json } = await post('version/list', { branch: 'child' });
    expect(json).toMatchObject({ versions: [{}, {}] });
  });

  it.each<readonly [string, string, string, (dev: Table) => Promise<unknown>]>([
    [
      'a delete',
      'append_only: true',
      'it removes 1 row of a table that only gets more',
      (dev) => dev.delete('id = 2'),
    ],
    [
      'an update',
      'append_only: true',
      'it changes 1 row of a table that only gets more',
      (dev) => dev.update({ where: 'id = 2', values: { id: 5 } }),
    ],
    [
      'many rows',
      'max_rows: 2',
      'it adds 3 rows, and at most 2 may be added',
      (dev) => dev.add([{ id: 4 }, { id: 5 }, { id: 6 }]),
    ],
    [
      'another column',
      'schema: locked',
      'the column "double" would be added, and the schema is locked',
      (dev) => dev.addColumns([{ name: 'double', valueSql: 'id * 2' }]),
    ],
    [
      'an older version',
      'append_only: true',
      'the table may only be appended to, not restored to an older version',
      async (dev) => {
        await dev.add([{ id: 4 }]);
        await dev.checkout(1);
        await dev.restore();
      },
    ],
  ])('are refused for %s under %s, and stay unknown', async (_, require, fault, change) => {
    rules.demand(require);
    await (await main.branches()).create('dev');
    await again();
    await change(await branch('dev'));
    expect(await refusalOf(again())).toBe(says(fault));
    const { json } = await post('version/list', { branch: 'dev' });
    expect(json).toMatchObject({ versions: [{}] });
  });

  it('begin with what they say that they came from', async () => {
    rules.demand('append_only: true');
    await main.add([{ id: 4 }]);
    await (await main.branches()).create('old', undefined, 1);
    await (await branch('old')).add([{ id: 9 }]);
    expect((await again()).commit?.rules).toEqual(['demand']);
  });
});
