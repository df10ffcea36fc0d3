import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { versionFile } from '../../../src/engine/format/lance/version-file.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import { openOther, type TestEngine } from '../../support/engine.ts';
import { refusalOf } from '../../support/engine-table.ts';
import { ManagedTable, manifestOf } from '../../support/managed-table.ts';
import { TestPermit } from '../../support/permit.ts';
import { ask } from '../../support/request.ts';
import { stoppingStore, type StoppingStore } from '../../support/stopping-store.ts';

let table: ManagedTable;

/** The file of a branch. */
const note = (branch: string) => join('_refs', 'branches', `${encodeURIComponent(branch)}.json`);

/** What a Lance client writes down of a branch after its first commit. */
async function writeRef(branch: string, fields: object = {}): Promise<void> {
  const ref = { parentBranch: null, parentVersion: 2, createAt: 7, manifestSize: 9, ...fields };
  await table.put(note(branch), JSON.stringify(ref));
}

const final = (branch: string, version: bigint) =>
  join('tree', branch, '_versions', versionFile(version, 'V2'));

/** What branches of Lance tables do, wherever the tables lie. */
export function managedBranches(name: string, openEngine: () => Promise<TestEngine>): void {
  describe(name, () => {
    beforeEach(async () => {
      table = await ManagedTable.open(await openEngine());
      for (const version of [1n, 2n, 3n]) await table.commit(version);
    });

    afterEach(() => table.close());

    branchesOfClients();
    removalsCutOff();
    registeredBranches();
  });
}

function branchesOfClients(): void {
  describe('a branch of a Lance table', () => {
    it('begins with the first commit, and goes on once its client has written it down', async () => {
      const branch = 'dev/x';
      expect(await table.commit(2n, { branch })).toMatchObject({
        version: {
          version: 2,
          manifest_path: table.keyOf(final(branch, 2n)),
        },
      });
      expect(await table.versions({ branch })).toEqual([2]);
      expect(await refusalOf(table.commit(3n, { branch }))).toBe(
        '22 the table has no branch "dev/x", but versions of one are left: delete them first',
      );
      await writeRef(branch);
      await table.commit(3n, { branch });
      await table.commit(4n, { branch, rows: 8 });
      expect(await table.versions({ branch })).toEqual([2, 3, 4]);
      expect(await table.versions()).toEqual([1, 2, 3]);
      expect(await table.post('describe', { branch })).toMatchObject({ version: 4 });
      expect(await table.post('stats', { branch })).toMatchObject({ num_rows: 8 });
      expect(await refusalOf(table.commit(4n, { branch }))).toBe(
        '14 table /t was committed to by someone else on the branch "dev/x": its version 4 is another one',
      );
      expect(await refusalOf(table.commit(6n, { branch }))).toBe(
        '14 table /t was committed to by someone else on the branch "dev/x": its next version is 5, not 6',
      );
      expect(await refusalOf(table.post('version/describe', { branch, version: 1 }))).toBe(
        '11 the table has no version 1',
      );
    });

    it('is repeated safely before it was written down', async () => {
      const staged = await table.stage(2n, { branch: 'dev' });
      const first = await table.create(2n, staged, { branch: 'dev' });
      expect((await table.create(2n, staged, { branch: 'dev' })).json).toEqual(first.json);
    });

    it('that was written down first begins where it says', async () => {
      await writeRef('dev');
      expect(await refusalOf(table.commit(9n, { branch: 'dev' }))).toBe(
        '14 table /t was committed to by someone else on the branch "dev": its next version is 3, not 9',
      );
      await table.commit(3n, { branch: 'dev' });
      expect(await table.versions({ branch: 'dev' })).toEqual([3]);
    });

    it('is one when several begin it at once', async () => {
      const staged = await Promise.all([1, 2, 3, 4].map(() => table.stage(2n, { branch: 'dev' })));
      const tries = await Promise.allSettled(
        staged.map((path) => table.create(2n, path, { branch: 'dev' })),
      );
      expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      expect(await table.versions({ branch: 'dev' })).toEqual([2]);
    });

    it('is listed with what its client wrote down', async () => {
      expect(await table.post('branches/list')).toEqual({ branches: {} });
      await table.commit(2n, { branch: 'dev' });
      expect(await table.post('branches/list')).toMatchObject({
        branches: { dev: { parentVersion: 2 } },
      });
      await writeRef('dev');
      await table.commit(3n, { branch: 'dev' });
      await table.commit(3n, { branch: 'fix/ü' });
      await writeRef('fix/ü', { parentBranch: 'dev', parentVersion: 3 });
      expect(await table.post('branches/list')).toEqual({
        branches: {
          dev: { parentVersion: 2, createAt: 7, manifestSize: 9, metadata: {} },
          'fix/ü': {
            parentBranch: 'dev',
            parentVersion: 3,
            createAt: 7,
            manifestSize: 9,
            metadata: {},
          },
        },
      });
    });

    it('that its client has deleted is gone, and its name is free again', async () => {
      await table.commit(2n, { branch: 'dev' });
      await writeRef('dev');
      await table.commit(3n, { branch: 'dev' });
      await table.remove('_refs');
      await table.remove('tree');
      expect(await table.versions({ branch: 'dev' })).toEqual([]);
      expect(await table.post('branches/list')).toEqual({ branches: {} });
      await table.commit(3n, { branch: 'dev' });
      await writeRef('dev');
      await table.commit(4n, { branch: 'dev' });
      expect(await table.versions({ branch: 'dev' })).toEqual([3, 4]);
    });

    it('does not begin on what is left of another', async () => {
      await table.put(final('old', 2n), manifestOf(2n));
      expect(await refusalOf(table.commit(3n, { branch: 'old' }))).toBe(
        '22 the table has no branch "old", but versions of one are left: delete them first',
      );
    });

    it('is deleted where no client has written down any branch', async () => {
      await table.commit(2n, { branch: 'dev' });
      await table.post('branches/delete', { name: 'dev' });
      expect(await table.post('branches/list')).toEqual({ branches: {} });
      await table.commit(2n, { branch: 'dev' });
    });

    it('is deleted with its files, unless something needs it', async () => {
      await table.commit(2n, { branch: 'dev' });
      await writeRef('dev');
      await table.commit(2n, { branch: 'dev/inner' });
      await writeRef('dev/inner', { parentBranch: 'dev' });
      const remove = (name: string) => table.post('branches/delete', { name });
      expect(await refusalOf(remove('dev'))).toBe(
        '19 the branch "dev" cannot be deleted: the branch "dev/inner" came from it',
      );
      await table.post('tags/create', { tag: 'v', version: 2, branch: 'dev/inner' });
      expect(await refusalOf(remove('dev/inner'))).toBe(
        '19 the branch "dev/inner" cannot be deleted: the tag "v" names its version 2',
      );
      await table.post('tags/delete', { tag: 'v' });
      await remove('dev/inner');
      expect(await table.post('branches/list')).toMatchObject({ branches: { dev: {} } });
      await remove('dev');
      expect((await table.files()).filter((name) => !name.startsWith('_versions'))).toEqual([]);
      expect(await refusalOf(remove('dev'))).toBe('22 the table has no branch "dev"');
    });

    it('keeps the version that it begins with', async () => {
      await table.commit(2n, { branch: 'dev' });
      await writeRef('dev');
      const all = { ranges: [{ start_version: 0, end_version: -1 }] };
      expect(await table.post('version/delete', all)).toEqual({ deleted_count: 1 });
      expect(await table.versions()).toEqual([2, 3]);
      await table.commit(3n, { branch: 'dev' });
      expect(await table.post('version/delete', { ...all, branch: 'dev' })).toEqual({
        deleted_count: 1,
      });
      expect(await table.versions({ branch: 'dev' })).toEqual([3]);
    });

    it('may have tags, which open its versions', async () => {
      await table.commit(2n, { branch: 'dev', rows: 4 });
      const permit = new TestPermit();
      await table.send('tags/create', { body: { tag: 'v', version: 2, branch: 'dev' }, permit });
      expect(permit.required).toEqual(['CreateTableTag /t@dev']);
      expect(await table.post('tags/list')).toMatchObject({
        tags: { v: { version: 2, branch: 'dev' } },
      });
      expect(await table.post('tags/version', { tag: 'v' })).toEqual({ version: 2, branch: 'dev' });
      expect(await table.post('describe', { tag: 'v' })).toMatchObject({ version: 2 });
      expect(await refusalOf(table.post('tags/create', { tag: 'w', version: 9 }))).toBe(
        '11 the table has no version 9',
      );
    });
  });
}

function removalsCutOff(): void {
  describe('a branch whose removal was cut off', () => {
    let stopping: StoppingStore;
    let stopped: Engine;

    beforeEach(async () => {
      await table.commit(2n, { branch: 'dev' });
      await writeRef('dev');
      await table.commit(3n, { branch: 'dev' });
      await table.commit(2n, { branch: 'dev/inner' });
      await writeRef('dev/inner', { parentBranch: 'dev' });
      stopping = stoppingStore(table.engine.store);
      stopped = await openOther({ ...table.engine, store: stopping.store });
    });

    afterEach(() => stopped.close());

    /** A process ends once the commit of a removal has taken effect, or when the file of the branch is gone as well. */
    async function cutOff(name: string, isNoteGone: boolean): Promise<void> {
      const reached = stopping.arm();
      const line = 'POST /v1/table/t/branches/delete';
      const asked = ask(stopped.backend, line, { body: { name } }).catch(() => undefined);
      await reached;
      stopping.release();
      await asked;
      if (isNoteGone) await table.remove(note(name));
      expect(await table.files()).toContain(final(name, 2n));
    }

    describe.each([
      ['before the file of the branch went', false],
      ['after the file of the branch went', true],
    ])('%s', (_, isNoteGone) => {
      it('is not listed, and its files go', async () => {
        await cutOff('dev/inner', isNoteGone);
        for (const listed of await Promise.all([1, 2, 3].map(() => table.post('branches/list')))) {
          expect(Object.keys((listed as { branches: object }).branches)).toEqual(['dev']);
        }
        const files = await table.files();
        expect(files.filter((file) => file.includes('inner'))).toEqual([]);
        expect(files).toContain(final('dev', 3n));
      });

      it('is not opened, and its name is free', async () => {
        await cutOff('dev/inner', isNoteGone);
        expect(await refusalOf(table.versions({ branch: 'dev/inner' }))).toBe(
          '22 the table has no branch "dev/inner"',
        );
        await table.commit(3n, { branch: 'dev/inner' });
        expect(await table.versions({ branch: 'dev/inner' })).toEqual([3]);
      });

      it('keeps the branch that it came from no longer, and is removed once', async () => {
        await cutOff('dev/inner', isNoteGone);
        const remove = (name: string) => table.post('branches/delete', { name });
        expect(await refusalOf(remove('dev/inner'))).toBe('22 the table has no branch "dev/inner"');
        await remove('dev');
        expect((await table.files()).filter((name) => !name.startsWith('_versions'))).toEqual([]);
      });
    });
  });
}

function registeredBranches(): void {
  describe('RegisterTable', () => {
    it('knows the versions of the branches too, and takes up what is new when it is done again', async () => {
      await table.commit(2n, { branch: 'dev' });
      await writeRef('dev');
      await table.commit(2n, { branch: 'twig' });
      await writeRef('twig', { parentBranch: 'dev' });
      await table.commit(-5n);
      await table.engine.storage.folders?.make(join(table.folder, 'tree', 'dead', '_versions'));
      await table.post('deregister');
      const register = (mode: string) =>
        table.send('register', { body: { location: table.location, mode } });
      await register('create');
      expect(await table.versions()).toEqual([1, 2, 3]);
      expect(await table.versions({ branch: 'twig' })).toEqual([2]);
      expect(await table.post('version/describe', { version: -5 })).toMatchObject({
        version: { version: -5, timestamp_millis: 1_700_000_000_000 },
      });
      expect(await table.post('branches/list')).toMatchObject({
        branches: { dev: { parentVersion: 2 }, twig: { parentBranch: 'dev' } },
      });
      await table.commit(4n);
      await table.put(join('_versions', versionFile(5n, 'V2')), manifestOf(5n));
      await table.put(final('dev', 3n), manifestOf(3n));
      const staged = await table.stage(5n);
      expect(await refusalOf(table.create(5n, staged))).toMatch(/^14 /);
      await register('overwrite');
      expect(await table.versions()).toEqual([1, 2, 3, 4, 5]);
      expect(await table.versions({ branch: 'dev' })).toEqual([2, 3]);
      await table.commit(6n);
      expect(await table.post('describe')).toMatchObject({ version: 6 });
    });
  });
}
