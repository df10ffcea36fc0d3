import { join } from 'node:path';
import { Int64, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { versionFile } from '../../../../src/engine/format/lance/version-file.ts';
import { Catalog } from '../../../../src/engine/catalog/catalog.ts';
import { versionRequest } from '../../../../src/engine/handlers/versions/create-version.ts';
import { VersionPlan } from '../../../../src/engine/versions/managed/version-creation.ts';
import { Branches } from '../../../../src/engine/versions/lines/branches.ts';
import { MAIN } from '../../../../src/engine/format/chain.ts';
import {
  VersionStore,
  versionWrites,
} from '../../../../src/engine/versions/lines/version-store.ts';
import { decodeTable } from '../../../../src/engine/catalog/records/records-codec.ts';
import { tableKey } from '../../../../src/engine/catalog/records/keys.ts';
import { refusalOf, streamOf } from '../../../support/engine-table.ts';
import type { TestEngine } from '../../../support/engine.ts';
import { storeKey } from '../../../../src/engine/versions/managed/place.ts';
import { isObjectKey, keyOfUri, wireLocation } from '../../../../src/storage/object-key.ts';
import { ManagedTable, manifestOf } from '../../../support/managed-table.ts';
import { TestPermit } from '../../../support/permit.ts';

let table: ManagedTable;

function keyOf(name: string): string {
  return table.keyOf(name);
}

const final = (version: bigint) => join('_versions', versionFile(version, 'V2'));

async function tableId(): Promise<string> {
  return decodeTable((await table.engine.store.get(tableKey(['t'])))!).id;
}

/** What Lance clients may commit, wherever tables lie. */
export function createsVersions(name: string, openEngine: () => Promise<TestEngine>): void {
  describe(name, () => {
    beforeEach(async () => {
      table = await ManagedTable.open(await openEngine());
    });

    afterEach(() => table.close());

    commitsOfClients();
    commitsCutOff();
    removedVersions();
    refusedCommits();
  });
}

function commitsOfClients(): void {
  describe('CreateTableVersion', () => {
    it('gives no version an earlier time than the version before, whatever its client says', async () => {
      await table.commit(1n, { made: 1_700_000_000 });
      const behind = await table.commit(2n, { made: 1_699_990_000 });
      expect(behind).toMatchObject({ version: { timestamp_millis: 1_700_000_000_000 } });
      const after = await table.commit(3n, { made: 1_700_000_001 });
      expect(after).toMatchObject({ version: { timestamp_millis: 1_700_000_001_000 } });
    });

    it('makes the first version of a declared table, which Lance clients write from then on', async () => {
      const staged = await table.stage(1n, { rows: 5 });
      const answer = await table.create(1n, staged, {
        manifest_size: manifestOf(1n, 5).length,
        e_tag: 'abc',
        naming_scheme: 'V2',
        metadata: { a: 'b' },
      });
      const version = {
        version: 1,
        manifest_path: keyOf(final(1n)),
        manifest_size: manifestOf(1n, 5).length,
        e_tag: 'abc',
        timestamp_millis: 1_700_000_000_000,
        timestamp: '2023-11-14T22:13:20.000Z',
        metadata: { a: 'b' },
      };
      expect(answer.json).toEqual({ version });
      expect(answer.commit).toEqual({
        kind: 'create_version',
        baseVersion: null,
        version: 1n,
        rowsAdded: 5n,
        rowsRemoved: 0n,
        schemaChanged: true,
        table: expect.stringMatching(/^[0-9a-f-]{36}$/),
        rowsChanged: 0n,
        columns: [],
        statement: null,
        rules: [],
      });
      expect(await table.files()).toEqual([final(1n)]);
      expect(await table.post('version/list')).toEqual({ versions: [version] });
      expect(await table.post('version/describe', { version: 1 })).toEqual({ version });
      expect(await table.post('describe')).toMatchObject({
        is_only_declared: false,
        version: 1,
        schema: { fields: [{ name: 'n' }] },
        location: table.location,
        managed_versioning: true,
      });
      expect(await table.post('stats')).toMatchObject({ num_rows: 5, total_bytes: 100 });
      expect((await table.send('exists', { body: { version: 1 } })).status).toBe(200);
    });

    it('makes one version after the other, and tells what each did', async () => {
      await table.commit(1n, { rows: 5 });
      const staged = await table.stage(2n, { rows: 7 });
      expect((await table.create(2n, staged)).commit).toMatchObject({
        baseVersion: 1n,
        version: 2n,
        rowsAdded: 7n,
        rowsRemoved: 5n,
        schemaChanged: false,
      });
      await table.commit(3n, { rows: 9 });
      expect(await table.versions()).toEqual([1, 2, 3]);
      expect(await table.versions({ descending: true, limit: 2 })).toEqual([3, 2]);
      expect(await table.versions({ descending: true, page_token: '2' })).toEqual([1]);
      expect(await table.post('describe', { version: 2 })).toMatchObject({ version: 2 });
      expect(await table.post('stats')).toMatchObject({ num_rows: 9 });
    });

    it('lets one of many have a version, and tells the others so', async () => {
      await table.commit(1n);
      const staged = await Promise.all([1, 2, 3, 4, 5, 6].map(() => table.stage(2n)));
      const tries = await Promise.allSettled(staged.map((path) => table.create(2n, path)));
      const won = tries.filter(({ status }) => status === 'fulfilled');
      expect(won).toHaveLength(1);
      for (const one of tries) {
        if (one.status === 'rejected') expect(one.reason).toMatchObject({ row: { code: 14 } });
      }
      expect(await table.versions()).toEqual([1, 2]);
      expect(await table.files()).toHaveLength(2 + 5);
    });

    it('succeeds again for what it has made: staged as before, or with the same bytes', async () => {
      const staged = await table.stage(1n);
      const first = await table.create(1n, staged);
      expect((await table.create(1n, staged)).json).toEqual(first.json);
      const bytes = manifestOf(2n, 3, 'same');
      const names = ['-a', '-b'].map((suffix) => `${final(2n)}${suffix}`);
      for (const name of names) await table.put(name, bytes);
      const second = await table.create(2n, keyOf(names[0]!));
      expect((await table.create(2n, keyOf(names[1]!))).json).toEqual(second.json);
      expect(await table.files()).toEqual([final(2n), final(1n)]);
      expect((await table.create(2n, keyOf(names[1]!)).catch((error) => error)).row.code).toBe(14);
      await table.commit(3n);
      expect((await table.create(1n, staged)).json).toEqual(first.json);
    });

    it('takes the names of both schemes', async () => {
      const first = await table.stage(1n, { scheme: 'V1' });
      expect((await table.create(1n, first, { naming_scheme: 'V1' })).json).toMatchObject({
        version: { manifest_path: keyOf('_versions/1.manifest') },
      });
      await table.commit(2n, { scheme: 'V1' });
      await table.commit(3n);
      expect(await table.files()).toEqual([
        '_versions/1.manifest',
        final(3n),
        '_versions/2.manifest',
      ]);
    });

    it('keeps versions that belong to no chain apart from those that do', async () => {
      await table.commit(1n);
      const version = -(2n ** 63n) + 5n;
      expect(await table.commit(version)).toMatchObject({
        version: { version, manifest_path: keyOf('_versions/d9223372036854775813.manifest') },
      });
      const described = await table.send('version/describe', { body: `{"version":${version}}` });
      expect(described.json).toMatchObject({ version: { version } });
      expect(await table.versions()).toEqual([1]);
      await table.commit(2n);
      expect(await table.versions()).toEqual([1, 2]);
      expect(await refusalOf(table.commit(version))).toBe(
        `14 table /t was committed to by someone else: its version ${version} is another one`,
      );
    });

    it('loses no digit of a version', async () => {
      const { allowed, storage } = table.engine;
      const folder = join(allowed, 'large');
      const large = 2n ** 60n + 1n;
      await storage.folders?.make(join(folder, '_versions'));
      await storage.write(join(folder, final(large)), manifestOf(large));
      await table.send('register', { body: { location: wireLocation(folder) } }, 'large');
      const name = `${final(large + 1n)}-x`;
      await storage.write(join(folder, name), manifestOf(large + 1n));
      const path = JSON.stringify(storeKey(folder, name));
      const body = `{"version":${large + 1n},"manifest_path":${path}}`;
      const made = await table.send('version/create', { body }, 'large');
      expect(made.json).toMatchObject({ version: { version: large + 1n } });
      const listed = await table.send('version/list', { body: { descending: true } }, 'large');
      expect(listed.json).toMatchObject({
        versions: [{ version: large + 1n }, { version: large }],
      });
      const described = await table.send('describe', {}, 'large');
      expect(described.json).toMatchObject({ version: large + 1n });
    });
  });
}

function commitsCutOff(): void {
  describe('a commit that a crash cut off', () => {
    const reads: readonly (readonly [string, object])[] = [
      ['version/list', {}],
      ['version/describe', {}],
      ['describe', {}],
      ['stats', {}],
      ['exists', { version: 2 }],
      ['tags/create', { tag: 'v', version: 2 }],
    ];

    it.each(reads)('is finished by the next request: %s', async (action, body) => {
      await table.commit(1n);
      const staged = await table.stage(2n, { rows: 3 });
      const staging = staged.slice(keyOf('x').length - 1);
      const record = {
        version: 2n,
        timestampMillis: 5,
        manifest: final(2n),
        staging,
        manifestBytes: 1,
        metadata: {},
      };
      await table.engine.store.commit([], versionWrites(await tableId(), record));
      await table.post(action, body);
      const files = (await table.files()).filter((file) => !file.startsWith('_refs'));
      expect(files).toEqual([final(2n), final(1n)]);
      expect(await table.post('describe')).toMatchObject({ version: 2 });
    });

    it('is finished though the client has removed what it staged', async () => {
      await table.commit(1n);
      const { store } = table.engine;
      const committer = { commit: store.commit.bind(store) };
      const branches = new Branches(store, committer);
      const catalog = new Catalog(store, committer);
      const versions = new VersionStore(store);
      const { storage } = table.engine;
      const parts = { storage, versions, store, branches, catalog, committer, retained: [] };
      const staged = await table.stage(2n, { rows: 3 });
      const body = { version: 2, manifest_path: staged };
      const request = versionRequest(['t'], body, MAIN);
      const { checks, writes } = await new VersionPlan(parts, 0, new Set()).add(request);
      expect(await store.commit(checks, writes)).toMatchObject({ kind: 'committed' });
      await table.remove(staged.slice(keyOf('x').length - 1));
      expect(await table.post('stats')).toMatchObject({ num_rows: 3 });
      expect(await table.files()).toEqual([final(2n), final(1n)]);
      expect((await table.create(2n, staged)).json).toMatchObject({ version: { version: 2 } });
    });

    it('is not overwritten: other bytes under the final name stay', async () => {
      await table.commit(1n);
      const bytes = manifestOf(2n);
      await table.put(final(2n), bytes);
      const staged = await table.stage(2n);
      await table.refuses(
        () => table.create(2n, staged),
        '14 the folder of the table /t holds a manifest of version 2 that was written without the catalog. `arrowgate catalog adopt /t` accepts it or sets it aside',
      );
      await table.put(`${final(2n)}-same`, bytes);
      await table.create(2n, keyOf(`${final(2n)}-same`));
      expect(await table.versions()).toEqual([1, 2]);
    });

    it.each([
      ['V2', 'V1'],
      ['V1', 'V2'],
    ] as const)('is seen under a name of %s by a commit that changes to %s', async (of, to) => {
      await table.commit(1n, { scheme: of });
      await table.put(join('_versions', versionFile(2n, of)), manifestOf(2n));
      const staged = await table.stage(2n, { scheme: to });
      await table.refuses(
        () => table.create(2n, staged),
        '14 the folder of the table /t holds a manifest of version 2 that was written without the catalog. `arrowgate catalog adopt /t` accepts it or sets it aside',
      );
    });

    it('is kept under the name of the other scheme, for which a bucket is not asked', async () => {
      const stray = join('_versions', versionFile(2n, 'V1'));
      await table.commit(1n);
      await table.put(stray, manifestOf(2n, 7));
      const staged = await table.stage(2n, { rows: 3 });
      if (!isObjectKey(table.folder)) {
        expect(await refusalOf(table.create(2n, staged))).toMatch(/^14 the folder of the table /);
        return;
      }
      await table.create(2n, staged);
      expect(await table.post('stats')).toMatchObject({ num_rows: 3 });
      expect(await table.files()).toContain(stray);
    });
  });
}

function removedVersions(): void {
  describe('a version that its client has cleaned up', () => {
    it('is not there any more, and is no longer listed', async () => {
      for (const version of [1n, 2n, 3n]) await table.commit(version);
      await table.remove(final(1n));
      expect(await refusalOf(table.post('version/describe', { version: 1 }))).toBe(
        '11 the table has no version 1',
      );
      await table.remove(final(2n));
      expect(await table.versions()).toEqual([3]);
      await table.put(final(2n), manifestOf(2n));
      expect(await table.versions()).toEqual([3]);
    });

    it('keeps its record while it is the newest', async () => {
      await table.commit(1n);
      const name = final(1n);
      await table.move(name, `${name}.away`);
      expect(await refusalOf(table.post('describe'))).toBe(
        `18 table /t: ${name} is missing: restore the file from a backup`,
      );
      expect(await table.versions()).toEqual([]);
      await table.move(`${name}.away`, name);
      expect(await table.versions()).toEqual([1]);
    });
  });

  describe('BatchDeleteTableVersions', () => {
    const remove = (start: number, end: number, body: object = {}) =>
      table.post('version/delete', {
        ranges: [{ start_version: start, end_version: end }],
        ...body,
      });

    it('removes records and manifests, but never the newest nor what something names', async () => {
      for (const version of [1n, 2n, 3n, 4n, 5n, 6n]) await table.commit(version);
      await table.post('tags/create', { tag: 'kept', version: 2 });
      await table.put('_refs/tags/own.json', '{"branch":null,"version":3}');
      expect(await remove(1, 3)).toEqual({ deleted_count: 1 });
      expect(await table.versions()).toEqual([2, 3, 4, 5, 6]);
      expect(await remove(0, -1)).toEqual({ deleted_count: 2 });
      expect(await table.versions()).toEqual([2, 3, 6]);
      expect((await table.files()).filter((name) => name.startsWith('_versions'))).toEqual(
        [6n, 3n, 2n].map(final),
      );
      expect(await remove(0, -1)).toEqual({ deleted_count: 0 });
    });
  });
}

function refusedCommits(): void {
  describe('what is refused', () => {
    beforeEach(async () => {
      await table.commit(1n);
    });

    const rows: readonly (readonly [string, () => Promise<unknown>, string])[] = [
      [
        'a version that is not the next',
        async () => table.create(3n, await table.stage(3n)),
        '14 table /t was committed to by someone else: its next version is 2, not 3',
      ],
      [
        'a version that is there',
        async () => table.create(1n, await table.stage(1n)),
        '14 table /t was committed to by someone else: its version 1 is another one',
      ],
      [
        'version 0',
        async () => table.create(0n, await table.stage(0n)),
        '13 version must be at least 1, or that of a detached one',
      ],
      [
        'a version beyond 64 bits',
        () => table.create(2n ** 63n, 'x'),
        '13 CreateTableVersionRequest: the field "version" must be a whole number of 64 bits, not the number 9223372036854775808',
      ],
      [
        'a manifest of another version',
        async () => table.create(2n, await table.stage(2n, { holds: 3n })),
        '13 manifest_path "{key}" holds the manifest of version 3, not of 2',
      ],
      [
        'a name of another version',
        async () => table.create(2n, await table.stage(3n, { holds: 2n })),
        '13 manifest_path "{key}" is the name of version 3, not of 2',
      ],
      [
        'a final name',
        async () => table.create(2n, await table.stage(2n, { suffix: '' })),
        '13 manifest_path "{key}" is not the name of a staged manifest',
      ],
      [
        'another size',
        async () => table.create(2n, await table.stage(2n), { manifest_size: 5 }),
        `13 manifest_path "{key}" has ${manifestOf(2n).length} bytes, not 5 as manifest_size says`,
      ],
      [
        'another scheme',
        async () => table.create(2n, await table.stage(2n), { naming_scheme: 'V1' }),
        '13 manifest_path "{key}" is a name of the scheme V2, not of V1',
      ],
      [
        'an unknown scheme',
        async () => table.create(2n, await table.stage(2n), { naming_scheme: 'V3' }),
        '13 naming_scheme must be "V1" or "V2", not "V3"',
      ],
      [
        'nothing staged',
        () => table.create(2n, keyOf(`${final(2n)}-none`)),
        '13 manifest_path "{key}" does not exist',
      ],
      [
        'a manifest of main for a branch',
        async () => table.create(2n, await table.stage(2n), { branch: 'dev' }),
        '13 manifest_path "{key}" does not lie in the folder _versions of the branch "dev" of the table',
      ],
      [
        'a name that no branch may have',
        async () => table.create(2n, await table.stage(2n, { branch: 'a b' }), { branch: 'a b' }),
        '13 the branch name "a b" may hold only letters, digits, ".", "-", "_" and "/"',
      ],
    ];

    it.each(rows)('%s', async (_, work, told) => {
      const error = await work().then(
        () => undefined,
        (thrown: unknown) => thrown as { row: { code: number }; message: string },
      );
      const said = `${error?.row.code} ${error?.message}`;
      expect(said.replace(/manifest_path "[^"]*"/, 'manifest_path "{key}"')).toBe(told);
      expect(await table.versions()).toEqual([1]);
      expect(await table.post('describe')).toMatchObject({ version: 1 });
    });

    it.each([
      ['elsewhere', () => 'etc/passwd'],
      ['a URI', () => `file://${table.location}/${final(2n)}-x`],
      ['the folder above', () => `${keyOf('_versions')}/../${final(2n)}-x`],
      ['a folder below', () => keyOf(`_versions/x/${versionFile(2n, 'V2')}-x`)],
      ['two slashes', () => keyOf('_versions').concat(`//${versionFile(2n, 'V2')}-x`)],
      ['the data', () => keyOf(`data/${versionFile(2n, 'V2')}-x`)],
      ['another table', () => storeKey(`${table.folder}2`, `${final(2n)}-x`)],
      ['a zero byte', () => keyOf(`${final(2n)}-x\u0000`)],
      ['nothing', () => ''],
    ])('a manifest that does not lie where it must: %s', async (_, path) => {
      const told = `13 manifest_path ${JSON.stringify(path())} does not lie in the folder _versions of the table`;
      await table.refuses(() => table.create(2n, path()), told);
    });

    it('bytes that are no manifest', async () => {
      const name = `${final(2n)}-x`;
      await table.put(name, 'not a manifest at all');
      const staged = keyOf(name);
      await table.refuses(
        () => table.create(2n, staged),
        `13 manifest_path ${JSON.stringify(staged)} is not a Lance manifest: the file has another mark`,
      );
    });

    it('a table of the engine, whose location is not told', async () => {
      const body = streamOf({ n: vectorFromArray([1n], new Int64()) });
      await table.send('create', { body }, 'own');
      const sent = { body: { version: 2, manifest_path: await table.stage(2n) } };
      expect(await refusalOf(table.send('version/create', sent, 'own'))).toMatch(
        /^19 table \/own is written by this service: /,
      );
      for (const action of ['describe', 'version/list', 'version/describe', 'drop']) {
        const { json } = await table.send(action, {}, 'own');
        expect(JSON.stringify(json)).not.toContain(table.engine.data);
      }
    });

    it('a detached version of a table without data', async () => {
      await table.send('declare', {}, 'empty');
      const { location } = (await table.send('describe', {}, 'empty')).json as { location: string };
      const path = storeKey(
        keyOfUri(location) ?? location,
        '_versions/d9223372036854775809.manifest-x',
      );
      const body = `{"version":${-(2n ** 63n) + 1n},"manifest_path":${JSON.stringify(path)}}`;
      expect(await refusalOf(table.send('version/create', { body }, 'empty'))).toBe(
        '19 table /empty is declared and has no data',
      );
    });

    it('a branch that only the body names is asked for', async () => {
      const permit = new TestPermit();
      const body = { version: 2, manifest_path: 'x', branch: 'dev' };
      await table.send('version/create', { body, permit }).catch(() => undefined);
      expect(permit.required).toEqual(['CreateTableVersion /t@dev']);
    });
  });
}
