import { dirname, join } from 'node:path';
import { Int64, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JsonValue } from '../../../src/protocol/json.ts';
import { keyOfUri, wireLocation } from '../../../src/storage/object-key.ts';
import { refusalOf, streamOf } from '../../support/engine-table.ts';
import type { TestEngine } from '../../support/engine.ts';
import { ManagedTable } from '../../support/managed-table.ts';
import { anything, TestPermit } from '../../support/permit.ts';
import { ask } from '../../support/request.ts';

/** Two tables that Lance clients write: `/t` and `/u`. */
let table: ManagedTable;
let other: ManagedTable;

async function batch(route: string, body: object, permit = anything()) {
  return ask(table.engine.backend, `POST /v1/table/${route}`, { body, permit });
}

const create = (entries: readonly object[], permit?: TestPermit) =>
  batch('version/batch-create', { entries }, permit);
const commit = (operations: readonly object[], permit?: TestPermit) =>
  batch('batch-commit', { operations }, permit);

/** An entry for a version that is staged now. */
async function staged(of: ManagedTable, version: bigint, branch?: string): Promise<object> {
  const path = await of.stage(version, branch === undefined ? {} : { branch });
  const named = branch === undefined ? {} : { branch };
  return { id: [of.name], version: Number(version), manifest_path: path, ...named };
}

async function everything(): Promise<readonly JsonValue[]> {
  const states = [];
  for (const one of [table, other]) states.push(await one.post('describe'), await one.files());
  states.push((await ask(table.engine.backend, 'GET /v1/table')).json);
  states.push((await table.engine.storage.names(dirname(table.folder)))?.toSorted());
  return states as readonly JsonValue[];
}

/** Asks for what must be refused, in these words, and changes nothing. */
async function refuses(work: Promise<unknown>, told: string): Promise<void> {
  expect(await refusalOf(work)).toBe(told);
}

/** What commits on several tables at once do, whatever store the engine is opened on. */
export function batchCommits(name: string, openEngine: () => Promise<TestEngine>): void {
  describe(name, () => {
    beforeEach(async () => {
      table = await ManagedTable.open(await openEngine());
      other = await table.further('u');
    });

    afterEach(() => table.close());

    batchCreates();
    batchCommitsOfTables();
  });
}

function batchCreates(): void {
  describe('BatchCreateTableVersions', () => {
    it('makes versions of several tables, and several of one in order', async () => {
      const answer = await create([
        await staged(table, 1n),
        await staged(other, 1n),
        await staged(table, 2n),
      ]);
      const inOther = expect.stringContaining(other.keyOf(''));
      expect(answer.json).toMatchObject({
        versions: [{ version: 1 }, { version: 1, manifest_path: inOther }, { version: 2 }],
      });
      expect(answer).toMatchObject({
        commit: { kind: 'batch', rowsAdded: 3n },
        objects: [['t'], ['u'], ['t']],
      });
      expect(await table.versions()).toEqual([1, 2]);
      expect(await other.versions()).toEqual([1]);
      expect((await table.files()).filter((name) => name.includes('manifest-'))).toEqual([]);
      expect((await create([])).json).toEqual({ versions: [] });
    });

    it('makes none when one cannot be made', async () => {
      await other.commit(1n);
      const entries = [await staged(table, 1n), await staged(other, 1n)];
      const before = await everything();
      await refuses(
        create(entries),
        '14 table /u was committed to by someone else: its version 1 is another one',
      );
      await refuses(
        create([entries[0]!, { id: ['none'], version: 1, manifest_path: 'x' }]),
        '4 table /none does not exist',
      );
      await refuses(
        create([entries[0]!, entries[0]!]),
        '14 table /t was committed to by someone else: its next version is 2, not 1',
      );
      expect(await everything()).toEqual(before);
      await create([entries[0]!]);
      expect(await table.versions()).toEqual([1]);
    });

    it('lets one of many batches that share a table be first', async () => {
      const batches = await Promise.all(
        [1, 2, 3, 4].map(async () => [await staged(table, 1n), await staged(other, 1n)]),
      );
      const tries = await Promise.allSettled(batches.map((entries) => create(entries)));
      expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      expect([await table.versions(), await other.versions()]).toEqual([[1], [1]]);
    });

    it('is repeated safely, with more', async () => {
      const first = await staged(table, 1n);
      await create([first]);
      await create([first, await staged(other, 1n)]);
      expect([await table.versions(), await other.versions()]).toEqual([[1], [1]]);
    });

    it('asks for the right to each table and branch before it looks', async () => {
      const permit = new TestPermit();
      const entries = [
        { id: ['a', 'x'], version: 1, manifest_path: 'x' },
        { id: ['b'], version: 1, manifest_path: 'x', branch: 'dev' },
      ];
      await create(entries, permit).catch(() => undefined);
      expect(permit.required).toEqual([
        'BatchCreateTableVersions /a/x',
        'BatchCreateTableVersions /b@dev',
      ]);
      const only = new TestPermit({ holds: (_, object) => object[0] === 'a' });
      await refuses(create(entries, only), '15 user:tester may not BatchCreateTableVersions on /b');
    });

    it.each([
      [{ id: [], version: 1, manifest_path: 'x' }, '13 entries[0] must name a table by its id'],
      [{ id: ['a', ''], version: 1, manifest_path: 'x' }, '13 an identifier has an empty segment'],
    ])('refuses %j', async (entry, told) => {
      await refuses(create([entry]), told);
    });
  });
}

function batchCommitsOfTables(): void {
  describe('BatchCommitTables', () => {
    it('does all of its operations at once', async () => {
      for (const version of [1n, 2n, 3n]) await table.commit(version);
      await other.commit(1n);
      const third = await table.further('v');
      const answer = await commit([
        { declare_table: { id: ['new'], properties: { a: 'b' } } },
        { create_table_version: await staged(other, 2n) },
        { create_table_version: await staged(other, 3n) },
        {
          delete_table_versions: { id: ['t'], ranges: [{ start_version: 1, end_version: -1 }] },
        },
        { deregister_table: { id: ['v'] } },
      ]);
      expect(answer.json).toMatchObject({
        results: [
          { declare_table: { properties: { a: 'b' }, managed_versioning: true } },
          { create_table_version: { version: { version: 2 } } },
          { create_table_version: { version: { version: 3 } } },
          { delete_table_versions: { deleted_count: 2 } },
          { deregister_table: { id: ['v'], location: third.location } },
        ],
      });
      expect(answer).toMatchObject({
        commit: { kind: 'batch', rowsAdded: 2n },
        objects: [['new'], ['u'], ['u'], ['t'], ['v']],
      });
      expect(await table.versions()).toEqual([3]);
      expect(await table.files()).toHaveLength(1);
      expect(await other.versions()).toEqual([1, 2, 3]);
      const listed = (await ask(table.engine.backend, 'GET /v1/table')).json;
      expect(listed).toEqual({ tables: ['new', 't', 'u'] });
      const { location } = (await table.send('describe', {}, 'new')).json as { location: string };
      expect(await table.engine.storage.names(keyOfUri(location) ?? location)).toEqual([]);
    });

    it('does none when one cannot be done', async () => {
      await table.commit(1n);
      await table.commit(2n);
      const taken = { create_table_version: await staged(table, 2n) };
      const all = [{ declare_table: { id: ['new'] } }, { deregister_table: { id: ['u'] } }];
      const before = await everything();
      await refuses(
        commit([...all, taken]),
        '14 table /t was committed to by someone else: its version 2 is another one',
      );
      await refuses(
        commit([...all, { declare_table: { id: ['t'] } }]),
        '5 table /t already exists',
      );
      await refuses(
        commit([...all, { declare_table: { id: ['none', 'x'] } }]),
        '1 namespace /none does not exist',
      );
      expect(await everything()).toEqual(before);
    });

    it('leaves places to one table each', async () => {
      const location = wireLocation(join(table.engine.allowed, 'place'));
      const declare = (name: string, place: string) => ({
        declare_table: { id: [name], location: place },
      });
      await refuses(
        commit([declare('a', location), declare('b', `${location}/inner`)]),
        `13 the location ${JSON.stringify(`${location}/inner`)} overlaps the location of another table`,
      );
      await commit([declare('a', location), declare('b', `${location}2`)]);
      expect((await table.send('describe', {}, 'b')).json).toMatchObject({
        location: `${location}2`,
      });
    });

    it('asks for the right of each operation before it looks', async () => {
      const permit = new TestPermit();
      const operations = [
        { declare_table: { id: ['a'], vend_credentials: true } },
        { create_table_version: { id: ['b'], version: 1, manifest_path: 'x', branch: 'dev' } },
        { delete_table_versions: { id: ['c'], ranges: [], branch: 'main' } },
        { deregister_table: { id: ['d'] } },
      ];
      await commit(operations, permit).catch(() => undefined);
      expect(permit.required).toEqual([
        'DeclareTable /a',
        'CreateTableVersion /a',
        'CreateTableVersion /b@dev',
        'drop /c@main',
        'DeregisterTable /d',
      ]);
    });

    const range = { ranges: [{ start_version: 0, end_version: 1 }] };
    it.each([
      [
        [{}],
        '13 operations[0] must hold exactly one of declare_table, create_table_version, delete_table_versions, deregister_table, not 0',
      ],
      [
        [{ deregister_table: { id: ['t'] } }, { drop_table: { id: ['t'] } }],
        '13 operations[1] must hold exactly one of declare_table, create_table_version, delete_table_versions, deregister_table, not 0',
      ],
      [
        [{ deregister_table: { id: ['t'] }, declare_table: { id: ['v'] } }],
        '13 operations[0] must hold exactly one of declare_table, create_table_version, delete_table_versions, deregister_table, not 2',
      ],
      [[{ deregister_table: {} }], '13 operations[0].deregister_table must name a table by its id'],
      [
        [{ deregister_table: { id: ['t'] } }, { declare_table: { id: ['t'] } }],
        '13 a batch cannot both deregister table and declare table /t: only versions of one table may be several',
      ],
      [
        [
          { delete_table_versions: { id: ['t'], ...range } },
          { delete_table_versions: { id: ['t'], ...range } },
        ],
        '13 a batch cannot both delete table versions and delete table versions /t: only versions of one table may be several',
      ],
      [
        [{ delete_table_versions: { id: ['t'], ...range } }],
        '19 table /t is declared and has no data',
      ],
    ])('refuses %j', async (operations, told) => {
      const before = await everything();
      await refuses(commit(operations), told);
      expect(await everything()).toEqual(before);
    });

    it('refuses versions of a table that the engine writes', async () => {
      const body = streamOf({ n: vectorFromArray([1n], new Int64()) });
      await table.send('create', { body }, 'own');
      for (const operation of [
        { create_table_version: { id: ['own'], version: 2, manifest_path: 'x' } },
        { delete_table_versions: { id: ['own'], ...range } },
      ]) {
        expect(await refusalOf(commit([operation]))).toMatch(
          /^19 table \/own is written by this service/,
        );
      }
    });

    it('does nothing for nothing', async () => {
      expect((await commit([])).json).toEqual({ results: [] });
    });
  });
}
